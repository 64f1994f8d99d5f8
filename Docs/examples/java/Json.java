import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as Map, List, String, BigDecimal, Boolean and null, because Java has no JSON. On Android, use org.json. */
final class Json {
    private static final int DEEPEST = 32;
    private final String text;
    private int at;

    private Json(String text) { this.text = text; }

    static Object read(String text) {
        Json json = new Json(text);
        Object value = json.value(0);
        if (json.next() != '\0') throw json.malformed();
        return value;
    }

    /** Makes an object from alternating names and values. Leaves out null values. */
    static Map<String, Object> object(Object... members) {
        Map<String, Object> object = new LinkedHashMap<>();
        for (int i = 0; i < members.length; i += 2) {
            if (members[i + 1] != null) object.put((String) members[i], members[i + 1]);
        }
        return object;
    }

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        String separator = "";
        if (value instanceof Map<?, ?> map) {
            out.append('{');
            for (Map.Entry<?, ?> member : map.entrySet()) {
                out.append(separator);
                write(member.getKey(), out);
                write(member.getValue(), out.append(':'));
                separator = ",";
            }
            out.append('}');
        } else if (value instanceof List<?> list) {
            out.append('[');
            for (Object element : list) {
                write(element, out.append(separator));
                separator = ",";
            }
            out.append(']');
        } else if (value instanceof String string) {
            out.append('"');
            string.chars().forEach(c -> {
                if (c < ' ') out.append(String.format("\\u%04x", c));
                else out.append(c == '"' || c == '\\' ? "\\" : "").append((char) c);
            });
            out.append('"');
        } else {
            out.append(value);
        }
    }

    private IllegalArgumentException malformed() {
        return new IllegalArgumentException("no JSON at character " + at);
    }

    /** Skips spaces and returns the next character, or a zero at the end. */
    private char next() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) at++;
        return at < text.length() ? text.charAt(at) : '\0';
    }

    private boolean take(char expected) {
        boolean isThere = next() == expected;
        if (isThere) at++;
        return isThere;
    }

    private void expect(char expected) {
        if (!take(expected)) throw malformed();
    }

    private Object value(int depth) {
        if (depth > DEEPEST) throw malformed();
        if (next() == '"') return string();
        if (take('{')) {
            Map<String, Object> map = new LinkedHashMap<>();
            if (take('}')) return map;
            do {
                next();
                String name = string();
                expect(':');
                map.put(name, value(depth + 1));
            } while (take(','));
            expect('}');
            return map;
        }
        if (take('[')) {
            List<Object> list = new ArrayList<>();
            if (take(']')) return list;
            do list.add(value(depth + 1)); while (take(','));
            expect(']');
            return list;
        }
        int start = at;
        while (at < text.length() && "+-.".indexOf(text.charAt(at)) >= 0 || Character.isLetterOrDigit(peek())) at++;
        String word = text.substring(start, at);
        return switch (word) {
            case "true" -> true;
            case "false" -> false;
            case "null" -> null;
            default -> new BigDecimal(word);
        };
    }

    private char peek() { return at < text.length() ? text.charAt(at) : '\0'; }

    private String string() {
        expect('"');
        StringBuilder out = new StringBuilder();
        for (;;) {
            if (at >= text.length()) throw malformed();
            char c = text.charAt(at++);
            if (c == '"') return out.toString();
            if (c != '\\') {
                out.append(c);
                continue;
            }
            char escaped = peek();
            at++;
            int plain = "bfnrt".indexOf(escaped);
            if (escaped == 'u') {
                out.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                at += 4;
            } else {
                out.append(plain < 0 ? escaped : "\b\f\n\r\t".charAt(plain));
            }
        }
    }
}
