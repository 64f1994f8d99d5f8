import JSONValues

/// The tables of codes in the protocol's page. protocol.schema.json has the codes, and the meaning of each.
struct SchemaTables {
    private let definitions: JSONValue

    init(json: String) throws {
        guard let definitions = JSONValue(line: Array(json.utf8))?["$defs"] else { throw Unusable(what: "definitions") }
        self.definitions = definitions
    }

    func parts() throws -> [GeneratedPage.Part] {
        let reason = definitions["reason"]?["anyOf"]?.array?.first
        let verdict = definitions["verdict"]?["anyOf"]?.array?.first
        let failures = "and one of `lastFailure`"
        return [
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
                    ["`blocked:` \(failures)", "is left alone for a while since it failed in that way"],
                    [
                        "`refused:` \(failures)",
                        "is in range by name, but what bears it is not joined: see scan.get",
                    ],
                    ["`unusable:` \(failures)", "led nowhere, and is not tried again for a while"],
                ]),
            try part("details", "`details`", "meaning", definitions["error"]?["properties"]?["details"]),
        ]
    }

    private func part(
        _ name: String, _ code: String, _ meaning: String, _ definition: JSONValue?, besides rows: [[String]] = []
    ) throws -> GeneratedPage.Part {
        guard let meanings = definition?["meanings"]?.object else { throw Unusable(what: "meanings of \(name)") }
        // The codes of an enumeration have an order, the members of an object have none.
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
