import AppProtocol

extension Check {
    /// Lines that are no requests, each in its own way. Each is answered `malformed`, with its id where it has one.
    static let malformedLines = [
        malformed("notJSON", "text that is no JSON", "hello"),
        malformed("truncated", "JSON that ends too soon", #"{"v":1,"id":"a","type":"#),
        malformed("twoObjects", "two objects on a line", #"{"v":1,"id":"a","type":"network.get"}{}"#),
        malformed("array", "a list", #"[{"v":1,"id":"a","type":"network.get"}]"#),
        malformed("text", "a JSON string", #""network.get""#),
        malformed("number", "a number", "1"),
        malformed("null", "null", "null"),
        malformed("spaces", "a line of spaces", "   "),
        malformed("empty", "an object without members", "{}"),
        malformed("noID", "no id", #"{"v":1,"type":"network.get"}"#),
        malformed("numericID", "an id that is a number", #"{"v":1,"id":7,"type":"network.get"}"#),
        malformed("nullID", "an id that is null", #"{"v":1,"id":null,"type":"network.get"}"#),
        malformed("noVersion", "no version", #"{"id":"a","type":"network.get"}"#, id: "a", field: "v"),
        malformed(
            "textVersion", "a version that is text", #"{"v":"1","id":"a","type":"network.get"}"#, id: "a", field: "v"),
        malformed(
            "fraction", "a version that is no whole number", #"{"v":1.5,"id":"a","type":"network.get"}"#, id: "a",
            field: "v"),
        malformed("noType", "no type", #"{"v":1,"id":"a"}"#, id: "a", field: "type"),
        malformed("numericType", "a type that is a number", #"{"v":1,"id":"a","type":1}"#, id: "a", field: "type"),
        malformed(
            "noBody", "no body where one is needed", #"{"v":1,"id":"a","type":"switch.get"}"#, id: "a", field: "body"),
        malformed(
            "textBody", "a body that is text", #"{"v":1,"id":"a","type":"switch.get","body":"s-1"}"#, id: "a",
            field: "body"),
        malformed(
            "listBody", "a body that is a list", #"{"v":1,"id":"a","type":"history.get","body":[5]}"#, id: "a",
            field: "body"),
        malformed(
            "wrongMember", "a member of the wrong type",
            #"{"v":1,"id":"a","type":"switch.get","body":{"switchId":12}}"#, id: "a", field: "body.switchId"),
        malformed(
            "hugeNumber", "a number beyond 64 bits",
            #"{"v":1,"id":"a","type":"events.subscribe","body":{"since":99999999999999999999}}"#, id: "a",
            field: "body.since"),
        malformed(
            "endlessNumber", "a number beyond all others",
            #"{"v":1,"id":"a","type":"history.get","body":{"limit":1e400}}"#, id: "a", field: "body.limit"),
        malformed(
            "fractionalEntry", "a list with a number that is not whole",
            #"{"v":1,"id":"a","type":"scan.start","body":{"frequencies":[2412,2417.5]}}"#, id: "a",
            field: "body.frequencies[1]"),
        malformed(
            "textNumber", "text in the place of a number",
            #"{"v":1,"id":"a","type":"backups.update","body":{"networks":[],"ifRevision":"5"}}"#, id: "a",
            field: "body.ifRevision", touchesBackups: true),
        malformed(
            "nullNumber", "null in the place of a number that is needed",
            #"{"v":1,"id":"a","type":"portal.answer","body":{"id":null,"cancel":true}}"#, id: "a", field: "body.id"),
        malformed(
            "networksNoList", "networks that are no list",
            #"{"v":1,"id":"a","type":"backups.update","body":{"networks":{}}}"#, id: "a", field: "body.networks",
            touchesBackups: true),
        malformed(
            "noNetworks", "an update without networks", #"{"v":1,"id":"a","type":"backups.update","body":{}}"#, id: "a",
            field: "body.networks", touchesBackups: true),
        malformed(
            "portalBoth", "an answer to a portal that is none",
            #"{"v":1,"id":"a","type":"portal.answer","body":{"id":0,"cancel":true,"values":{}}}"#, id: "a",
            field: "body.values"),
        malformed(
            "portalNumber", "a value for a portal that is a number",
            #"{"v":1,"id":"a","type":"portal.answer","body":{"id":0,"values":{"pin":1234}}}"#, id: "a",
            field: "body.values"),
        malformed(
            "deep", "nesting without end", String(repeating: "[", count: 30_000) + String(repeating: "]", count: 30_000)
        ),
        malformed("deepObject", "objects in objects without end", String(repeating: #"{"a":"#, count: 12_000)),
        malformed(
            "invalidUTF8", "bytes that are not UTF-8",
            Array(#"{"v":1,"id":""#.utf8) + [0xff, 0xc0] + Array(#""}"#.utf8)),
        malformed(
            "surrogate", "half a surrogate pair in UTF-8",
            Array(#"{"v":1,"id":""#.utf8) + [0xed, 0xa0, 0x80] + Array(#"","type":"network.get"}"#.utf8)),
        malformed("zeroByte", "a zero byte", Array(#"{"v":1,"id":"a","type":"network.get"}"#.utf8) + [0]),
        malformed("utf16", "UTF-16", Array(#"{"v":1,"id":"a","type":"network.get"}"#.utf8).flatMap { [$0, 0] }),
        malformed("markup", "another protocol's request", "GET / HTTP/1.1\r"),
    ]

    private static func malformed(
        _ name: String, _ what: String, _ line: String, id: String? = nil, field: String? = nil,
        touchesBackups: Bool = false
    ) -> Check {
        malformed(name, what, Array(line.utf8), id: id, field: field, touchesBackups: touchesBackups)
    }

    private static func malformed(
        _ name: String, _ what: String, _ line: [UInt8], id: String? = nil, field: String? = nil,
        touchesBackups: Bool = false
    ) -> Check {
        Check(
            "lines.malformed.\(name)", "\(what): answered malformed, the connection stays usable", section: "Lines",
            touchesBackups: touchesBackups
        ) { trial in
            try await trial.refuses(line, .malformed, id: id, field: field)
        }
    }
}
