// OpenSSL's libcrypto: message digests.
#pragma once
#include <openssl/evp.h>
