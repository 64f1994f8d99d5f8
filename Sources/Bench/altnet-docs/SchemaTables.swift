import JSONValues

struct SchemaTables {
    private let definitions: JSONValue

    init(json: String) throws {
        guard let definitions = JSONValue(line: Array(json.utf8))?["$defs"] else { throw Unusable(what: "definitions") }
        self.definitions = definitions
    }

    func parts() throws -> [GeneratedPage.Part] { try codes() + members() }

    private func codes() throws -> [GeneratedPage.Part] {
        let reason = definitions["reason"]?["anyOf"]?.array?.first
        let verdict = definitions["verdict"]?["anyOf"]?.array?.first
        let failures = "and one of `lastFailure`"
        return [
            try part("securities", "`security`", "meaning", definitions["security"]),
            try part("failures", "`lastFailure`", "meaning", definitions["joinFailure"]),
            try part("states", "`state`", "the Wi-Fi link", definitions["state"]),
            try part("phases", "`phase`", "meaning", definitions["phase"]),
            try part("roles", "`role`", "may", definitions["role"]),
            try part("internet", "`internet`", "meaning", definitions["internet"]),
            try part("results", "`result`", "the layer", definitions["diagnosisResult"]),
            try part("obstacles", "`obstacle`", "is that", definitions["handover"]?["properties"]?["obstacle"]),
            try part("levels", "a `level`", "reached when", definitions["level"]),
            try part("problems", "a `problem`", "is that", definitions["problem"]),
            try part("target-states", "`state` of a target", "says that", definitions["connectionState"]),
            try part("reachability", "a flag of `reachability`", "says that", definitions["reachability"]),
            try part("layers", "`layer`", "is about", definitions["diagnosisLayer"]),
            try part("sign-in-states", "`state` of a sign-in", "says that", definitions["portalState"]),
            try part("decisions", "`kind`", "the device", definitions["decision.kind"]),
            try part(
                "reasons", "`reason`", "because", reason,
                besides: [["one of `lastFailure`", "that happened: see backups.get"]]),
            try part(
                "verdicts", "`verdict`", "the candidate", verdict,
                besides: [
                    ["`blocked:` \(failures)", "is not tried for a while, because it failed in that way"],
                    [
                        "`refused:` \(failures)",
                        "is in range by name, but no access point of it may be joined: see scan.get",
                    ],
                    ["`unusable:` \(failures)", "had no internet access, and is not tried again for a while"],
                ]),
            try part("details", "`details`", "meaning", definitions["error"]?["properties"]?["details"]),
        ]
    }

    /// Returns tables of members. Each table is in alphabetical order.
    private func members() throws -> [GeneratedPage.Part] {
        let capabilities = definitions["answer:capabilities.get"]?["properties"]?["body"]?["properties"]
        let staging = definitions["request:password.stage"]?["properties"]?["body"]
        let switching = definitions["request:network.switch"]?["properties"]?["body"]
        let adding = definitions["request:keys.add"]?["properties"]?["body"]
        return [
            try part("line", "member", "meaning", definitions["request"]),
            try part("features", "`features`", "the device has", capabilities?["features"]),
            try part("network", "member", "meaning", definitions["network"]),
            try part("modem", "member", "meaning", definitions["modem"]),
            try part("radio", "member", "meaning", definitions["radio"]),
            try part("rescue", "member", "meaning", definitions["rescue"]),
            try part("refused", "member", "meaning", definitions["refused"]),
            try part("connectivity", "member", "meaning", definitions["connectivity"]),
            try part("target", "member of a target", "meaning", definitions["target"]),
            try part("portal", "member of `portal`", "meaning", definitions["portal"]),
            try part("portal-request", "member of `request`", "meaning", definitions["portalRequest"]),
            try part("backups", "member", "meaning", definitions["backups"]),
            try part("backup", "member of a network", "meaning", definitions["backup"]),
            try part("entry", "an entry has", "and is", definitions["reference"]),
            try part("staging", "member", "meaning", staging),
            try part("staged", "member of `staged`", "meaning", definitions["staged"]),
            try part("enterprise", "member", "meaning", definitions["enterprise"]),
            try part("address", "member", "meaning", definitions["address"]),
            try part("switching", "member", "meaning", switching),
            try part("switch", "member", "meaning", definitions["switch"]),
            try part("scanned", "member of a network", "meaning", definitions["scanned"]),
            try part("decision", "member", "meaning", definitions["decision"]),
            try part("metric", "member", "meaning", definitions["metric"]),
            try part("key", "member of a key", "meaning", definitions["appKey"]),
            try part("adding", "member of `keys.add`", "meaning", adding),
            try part("events", "event", "when; body", definitions["event"]),
        ]
    }

    private func part(
        _ name: String, _ code: String, _ meaning: String, _ definition: JSONValue?, besides rows: [[String]] = []
    ) throws -> GeneratedPage.Part {
        guard let meanings = definition?["meanings"]?.object else { throw Unusable(what: "meanings of \(name)") }
        // Error codes keep the order of the enumeration. Members are sorted by name, because they have no order.
        let codes = definition?["enum"]?.array?.compactMap(\.text) ?? meanings.keys.sorted()
        let explained = try codes.map { code in
            guard let meaning = meanings[code]?.text else { throw Unusable(what: "meaning of \(code)") }
            return [Markdown.code(code), meaning]
        }
        return GeneratedPage.Part(name, Markdown.table([code, meaning], explained + rows))
    }

    struct Unusable: Error, CustomStringConvertible {
        let what: String

        var description: String { "Docs/protocol.schema.json has no \(what)" }
    }
}
