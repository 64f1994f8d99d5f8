// Asks an altnet device in the network, with mbedTLS (2.28 or 3), which most microcontrollers have.
//
//     cc client.c -o client -lmbedtls -lmbedx509 -lmbedcrypto
//     ./client HOST PORT KEY_FILE TYPE [BODY]     such as:  ./client 192.0.2.7 25863 lamp.key network.get
//
// KEY_FILE holds a pairing code: altnet://pair?v=1&id=...&key=...&cert=... An error is one line, `code: message`, with
// exit status 1. It does not seal passwords: mbedTLS has the parts (X25519, HMAC, AES-128-GCM), and seal.py shows how.
#include <mbedtls/base64.h>
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/md.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#if MBEDTLS_VERSION_MAJOR >= 3
#include <psa/crypto.h>
#endif
#include "text.h"

enum { HASH = 32, BASE64 = 45, LINE = 64 * 1024 };

static mbedtls_ssl_context tls;
static char line[LINE + 1], request[LINE];

static void fail(const char *code, const char *message) {
    fprintf(stderr, "%s: %s\n", code, message);
    exit(1);
}

static int expect(int result) {
    char message[128];
    if (result >= 0) return result;
    mbedtls_strerror(result, message, sizeof message);
    fail("failed", message);
    return result;
}

// Decodes a member in Base64.
static void bytes(const char *json, const char *name, unsigned char out[HASH]) {
    const char *value = text(json, name);
    size_t length = 0;
    if (!value || mbedtls_base64_decode(out, HASH, &length, (unsigned char *)value, strlen(value)) || length != HASH)
        fail("notTheDevice", "the other side speaks another protocol");
}

static void receive(void) {
    static char buffer[LINE];
    static size_t count;
    for (;;) {
        char *end = memchr(buffer, '\n', count);
        if (end) {
            size_t length = (size_t)(end - buffer);
            memcpy(line, buffer, length);
            line[length] = 0;
            memmove(buffer, end + 1, count -= length + 1);
            break;
        }
        if (count == sizeof buffer) fail("failed", "the device sends too long a line");
        int result = mbedtls_ssl_read(&tls, (unsigned char *)buffer + count, sizeof buffer - count);
#if MBEDTLS_VERSION_MAJOR >= 3
        if (result == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET) continue;
#endif
        if (result == 0) fail("failed", "the device has closed the connection");
        count += (size_t)expect(result);
    }
    const char *error = member(line, "error"), *code = text(error, "code"), *message = text(error, "message");
    if (error) fail(code ? code : "failed", message ? message : error);
}

// Returns the body of the answer. Skips events that come before it.
static const char *ask(const char *type, const char *body) {
    int length = snprintf(
        request, sizeof request, "{\"v\":1,\"id\":\"1\",\"type\":\"%s\",\"body\":%s}\n", type, body ? body : "{}");
    if (length >= (int)sizeof request) fail("failed", "the request is too long");
    for (int sent = 0; sent < length;)
        sent += expect(mbedtls_ssl_write(&tls, (unsigned char *)request + sent, (size_t)(length - sent)));
    do receive();
    while (member(line, "event"));
    return member(line, "body");
}

// Computes the proof of one side. It is valid only for this certificate and this connection.
static void prove(
    const char *side, const unsigned char *key, size_t length, const unsigned char parts[3 * HASH], const char *id,
    unsigned char proof[HASH]
) {
    mbedtls_md_context_t hmac;
    mbedtls_md_init(&hmac);
    expect(mbedtls_md_setup(&hmac, mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), 1));
    expect(mbedtls_md_hmac_starts(&hmac, key, length));
    expect(mbedtls_md_hmac_update(&hmac, (const unsigned char *)side, strlen(side)));
    expect(mbedtls_md_hmac_update(&hmac, parts, 3 * HASH));
    expect(mbedtls_md_hmac_update(&hmac, (const unsigned char *)id, strlen(id)));
    expect(mbedtls_md_hmac_finish(&hmac, proof));
    mbedtls_md_free(&hmac);
}

// Encodes in standard Base64.
static const char *encode(const unsigned char in[HASH], char out[BASE64]) {
    size_t length;
    expect(mbedtls_base64_encode((unsigned char *)out, BASE64, &length, in, HASH));
    return out;
}

int main(int count, char **arguments) {
    if (count < 5) fail("usage", "client HOST PORT KEY_FILE TYPE [BODY]");
    static char code[1025], body[1024], nonce[BASE64], sign[BASE64];
    FILE *file = fopen(arguments[3], "r");
    if (!file || !fgets(code, sizeof code, file)) fail("failed", "the file with the pairing code cannot be read");
    fclose(file);
    code[strcspn(code, "\r\n")] = 0;
    size_t length = 0, other = 0;
    const unsigned char *pin = value(code, "cert", &other);
    const char *id = (char *)value(code, "id", &other), *name = (char *)value(code, "name", &other);
    const unsigned char *key = value(code, "key", &length);
    if (strncmp(code, "altnet://pair?v=1&", 18) || !id || !key) fail("malformed", "this is not a pairing code");
    if (!name) name = "owner";

    mbedtls_net_context net;
    mbedtls_ssl_config config;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    mbedtls_net_init(&net);
    mbedtls_ssl_init(&tls);
    mbedtls_ssl_config_init(&config);
    mbedtls_entropy_init(&entropy);
    mbedtls_ctr_drbg_init(&random);
#if MBEDTLS_VERSION_MAJOR >= 3
    if (psa_crypto_init() != PSA_SUCCESS) fail("failed", "no cryptography");
#endif
    expect(mbedtls_ctr_drbg_seed(&random, mbedtls_entropy_func, &entropy, NULL, 0));
    expect(mbedtls_ssl_config_defaults(
        &config, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT));
    mbedtls_ssl_conf_rng(&config, mbedtls_ctr_drbg_random, &random);
    mbedtls_ssl_conf_authmode(&config, MBEDTLS_SSL_VERIFY_OPTIONAL);  // The fingerprint is checked below.
    mbedtls_ssl_conf_read_timeout(&config, 30000);
    expect(mbedtls_ssl_setup(&tls, &config));
    expect(mbedtls_ssl_set_hostname(&tls, NULL));
    expect(mbedtls_net_connect(&net, arguments[1], arguments[2], MBEDTLS_NET_PROTO_TCP));
    mbedtls_ssl_set_bio(&tls, &net, mbedtls_net_send, NULL, mbedtls_net_recv_timeout);
    expect(mbedtls_ssl_handshake(&tls));

    // The certificate's SHA-256, the device's nonce, and our nonce.
    unsigned char parts[3 * HASH], proof[HASH], theirs[HASH];
    const mbedtls_x509_crt *certificate = mbedtls_ssl_get_peer_cert(&tls);
    if (!certificate) fail("notTheDevice", "it shows no certificate");
    expect(mbedtls_md(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), certificate->raw.p, certificate->raw.len, parts));
    char digits[2 * HASH + 1];
    for (int i = 0; i < HASH; i++) snprintf(digits + 2 * i, 3, "%02x", parts[i]);
    if (pin && strcasecmp((const char *)pin, digits))
        fail("certificateChanged", "pair again if the device was reset; else this is another host");
    receive();
    bytes(line, "nonce", parts + HASH);
    expect(mbedtls_ctr_drbg_random(&random, parts + 2 * HASH, HASH));
    prove("altnet/1 app", key, length, parts, id, proof);
    snprintf(
        body, sizeof body, "{\"deviceId\":%s,\"key\":%s,\"nonce\":\"%s\",\"proof\":\"%s\"}", quoted(id),
        quoted(name), encode(parts + 2 * HASH, nonce), encode(proof, sign));
    bytes(ask("session.open", body), "proof", theirs);
    prove("altnet/1 device", key, length, parts, id, proof);
    unsigned char difference = 0;
    for (int i = 0; i < HASH; i++) difference |= proof[i] ^ theirs[i];
    if (difference) fail("notTheDevice", "the other side has not proved that it has the key");

    const char *answer = ask(arguments[4], count > 5 ? arguments[5] : NULL);
    puts(answer ? answer : "{}");
    mbedtls_ssl_close_notify(&tls);
    return 0;
}
