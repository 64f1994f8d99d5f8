// Reads pairing codes and the JSON of a device, without a library. The results are never freed. Free them on a device
// that keeps running.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_hex(char digit) { return isxdigit((unsigned char)digit); }

// Returns a value of the pairing code as raw bytes, with its percent signs decoded. NULL if there is none.
static unsigned char *value(char *code, const char *name, size_t *length) {
    size_t width = strlen(name);
    for (char *at = strchr(code, '?'); at; at = strchr(at + 1, '&')) {
        if (strncmp(at + 1, name, width) || at[1 + width] != '=') continue;
        const char *from = at + width + 2;
        unsigned char *bytes = calloc(1, strlen(from) + 1), *to = bytes;
        if (!bytes) return NULL;
        for (unsigned byte; *from && *from != '&'; from++)
            if (*from == '%' && is_hex(from[1]) && is_hex(from[2]) && sscanf(from + 1, "%2x", &byte) == 1)
                *to++ = (unsigned char)byte, from += 2;
            else
                *to++ = (unsigned char)*from;
        *length = (size_t)(to - bytes);
        return bytes;
    }
    return NULL;
}

// Returns the member of a JSON object without spaces, as it is written. NULL if there is none.
static char *member(const char *json, const char *name) {
    int depth = 0;
    size_t width = strlen(name);
    for (const char *at = json; *at; at++) {
        if (*at == '{' || *at == '[') depth++;
        if (*at == '}' || *at == ']') depth--;
        if (*at != '"') continue;
        const char *key = at + 1;
        for (at++; *at && *at != '"'; at++)
            if (*at == '\\' && at[1]) at++;
        if (!*at) return NULL;
        if (depth != 1 || at[1] != ':' || (size_t)(at - key) != width || strncmp(key, name, width)) continue;
        const char *start = at += 2;
        for (; *at && (depth > 1 || (*at != ',' && *at != '}')); at++) {
            if (*at == '"')
                for (at++; *at && *at != '"'; at++)
                    if (*at == '\\' && at[1]) at++;
            if (!*at) return NULL;
            if (*at == '{' || *at == '[') depth++;
            if (*at == '}' || *at == ']') depth--;
        }
        return strndup(start, (size_t)(at - start));
    }
    return NULL;
}

// Returns a member that is a text, without its quotes. Keeps its escapes.
static char *text(const char *json, const char *name) {
    char *value = json ? member(json, name) : NULL;
    size_t length = value ? strlen(value) : 0;
    if (length < 2 || value[0] != '"') return NULL;
    value[length - 1] = 0;
    return value + 1;
}

// Returns a text as JSON, with quotes.
static char *quoted(const char *text) {
    char *json = malloc(2 * strlen(text) + 3), *to = json;
    if (!json) return NULL;
    *to++ = '"';
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') *to++ = '\\';
        *to++ = *text;
    }
    strcpy(to, "\"");
    return json;
}
