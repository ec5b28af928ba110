// HTTPCaching: RFC 9111's rules for a shared batch cache as pure functions. What comes in: response
// heads, settings, times. What goes out: decisions. No clock, no store, no network.
//
//   ResponseHead ──► storability ──► StoredResponse            may it be kept?
//   StoredResponse ──► freshness ──► isFresh / judge           until when need it not be asked for?
//   StoredResponse ──► validators ──► (asked) ──► applying304  what to ask, what the answer means
//   ResponseHead (a failure) ──► negativeFreshness             when to try again
//   StoredResponse ──► decidingLines                           why, for people

import Vocabulary

/// What a server said of one URL, and when: all that freshness depends on.
///
/// The ledger keeps it as it was said; each job's settings are applied when that job looks.
package struct StoredResponse: Sendable, Hashable {
  package var status: Int
  /// The fields that matter later (see `HTTPFields.worthStoring`).
  package var fields: HTTPFields
  /// When the request left (RFC 9111 §4.2.3 `request_time`).
  package var requestTime: Timestamp
  /// When the response's head had come (`response_time`).
  package var responseTime: Timestamp
  /// The request's values of the fields that `Vary` names; they are compared, never sent.
  /// A credential's value is replaced by a mark (see `HTTPFields.valuesWorthComparing`).
  package var varyValues: HTTPFields

  package init(
    status: Int, fields: HTTPFields, requestTime: Timestamp, responseTime: Timestamp,
    varyValues: HTTPFields = HTTPFields()
  ) {
    self.status = status
    self.fields = fields
    self.requestTime = requestTime
    self.responseTime = responseTime
    self.varyValues = varyValues
  }
}
