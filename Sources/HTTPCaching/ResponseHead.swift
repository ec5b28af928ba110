import Vocabulary

/// Any response's head as it arrived, before it is known what becomes of it.
package struct ResponseHead: Sendable, Hashable {
  package var status: Int
  /// All of them, as received.
  package var fields: HTTPFields
  /// When the request left.
  package var requestTime: Timestamp
  /// When the head had come.
  package var responseTime: Timestamp

  package init(
    status: Int, fields: HTTPFields, requestTime: Timestamp, responseTime: Timestamp
  ) {
    self.status = status
    self.fields = fields
    self.requestTime = requestTime
    self.responseTime = responseTime
  }
}

/// What the decisions need to know of the request that a response answers.
package struct RequestContext: Sendable, Hashable {
  /// Whether it carried an Authorization field.
  package var hadAuthorization: Bool
  /// Whether it carried If-None-Match or If-Modified-Since.
  package var wasConditional: Bool
  /// The fields that we sent.
  package var fields: HTTPFields

  package init(hadAuthorization: Bool, wasConditional: Bool, fields: HTTPFields) {
    self.hadAuthorization = hadAuthorization
    self.wasConditional = wasConditional
    self.fields = fields
  }

  package init(fields: HTTPFields) {
    self.init(
      hadAuthorization: fields.contains("Authorization"),
      wasConditional: fields.contains("If-None-Match") || fields.contains("If-Modified-Since"),
      fields: fields)
  }
}

extension StoredResponse {
  /// What is to be kept of a response that may be stored.
  ///
  /// A 206 that completed a body which we held in part is the whole, a 200 (RFC 9111 §3.4).
  package init(_ head: ResponseHead, request: RequestContext) {
    self.init(
      status: head.status == 206 ? 200 : head.status, fields: head.fields.worthStoring,
      requestTime: head.requestTime, responseTime: head.responseTime,
      varyValues: request.fields.valuesWorthComparing(
        vary: head.fields, hadAuthorization: request.hadAuthorization))
  }
}
