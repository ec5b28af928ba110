// libcurl: the typed forms of its variadic calls, and the Linux event calls that its socket interface
// is driven with; malloc's settings, for its buffers.
#pragma once
#include <curl/curl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// Swift cannot import variadic functions: one wrapper per argument type that we pass.
static inline CURLcode tw_easy_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode tw_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode tw_easy_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}
// Of the type that both CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION take.
static inline CURLcode tw_easy_set_write(
    CURL *easy, CURLoption option, size_t (*function)(char *, size_t, size_t, void *)) {
  return curl_easy_setopt(easy, option, function);
}
static inline CURLcode tw_easy_set_open_socket(CURL *easy, curl_opensocket_callback function) {
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, function);
}
static inline CURLcode tw_easy_set_close_socket(CURL *easy, curl_closesocket_callback function) {
  return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, function);
}
static inline CURLcode tw_easy_set_before_request(CURL *easy, curl_prereq_callback function) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}
static inline CURLcode tw_easy_set_before_look_up(
    CURL *easy, curl_resolver_start_callback function) {
  return curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, function);
}
static inline CURLcode tw_easy_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode tw_easy_get_size(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode tw_easy_get_pointer(CURL *easy, CURLINFO info, void **value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline CURLMcode tw_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode tw_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode tw_multi_set_socket(CURLM *multi, curl_socket_callback function) {
  return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, function);
}
static inline CURLMcode tw_multi_set_timer(CURLM *multi, curl_multi_timer_callback function) {
  return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, function);
}
// The result shares a union with a pointer, which Swift imports without names for its cases.
static inline CURLcode tw_message_result(const CURLMsg *message) { return message->data.result; }
