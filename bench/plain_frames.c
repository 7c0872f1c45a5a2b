/* Preloaded into muster and its agents: frames are copied where they would be encrypted and authenticated. For
   sealing_cost.py. */
#include <string.h>

typedef unsigned char byte;
typedef unsigned long long size;

enum { tag = 16 };

int crypto_aead_xchacha20poly1305_ietf_encrypt(byte* out, size* out_size, const byte* in, size in_size, const byte* more, size more_size,
                                               const byte* secret, const byte* nonce, const byte* key) {
  (void)more, (void)more_size, (void)secret, (void)nonce, (void)key;
  memcpy(out, in, in_size);
  memset(out + in_size, 0, tag);
  if (out_size != NULL) *out_size = in_size + tag;
  return 0;
}

int crypto_aead_xchacha20poly1305_ietf_decrypt(byte* out, size* out_size, byte* secret, const byte* in, size in_size, const byte* more,
                                               size more_size, const byte* nonce, const byte* key) {
  (void)more, (void)more_size, (void)secret, (void)nonce, (void)key;
  if (in_size < tag) return -1;
  memcpy(out, in, in_size - tag);
  if (out_size != NULL) *out_size = in_size - tag;
  return 0;
}
