// libcurl: the typed forms of its variadic calls.
#pragma once
#include <curl/curl.h>
