// yajl: a JSON parser that calls back.
#pragma once
#include <yajl/yajl_parse.h>

// Swift cannot import variadic functions: texts one after another, of one document each.
static inline void tw_yajl_allow_many_values(yajl_handle parser) {
  yajl_config(parser, yajl_allow_multiple_values, 1);
}
