import AppProtocol
import JSONValues

extension Check {
    static let lines = [
        Check("lines.id.longest", "an id of 64 bytes comes back unchanged", section: section) { check in
            try await check.echo(String(repeating: "i", count: ProtocolLimits.idLength))
        },
        Check("lines.id.anyText", "an id may be any text, escaped or not", section: section) { check in
            for id in ["\"\\/\n\t", "\u{1f4f6} caf\u{e9}", "\u{1}\u{7f}", " "] { try await check.echo(id) }
        },
        Check("lines.id.tooLong", "an id of 65 bytes is refused as malformed", section: section) { check in
            let id = JSONValue.text(String(repeating: "i", count: ProtocolLimits.idLength + 1))
            try await check.refuses(["v": 1, "id": id, "type": "network.get"], .malformed, id: nil, field: "id")
        },
        Check("lines.id.empty", "an empty id is refused as malformed", section: section) { check in
            try await check.refuses(["v": 1, "id": "", "type": "network.get"], .malformed, id: nil, field: "id")
        },
        Check("lines.version.unsupported", "another version is refused as unsupportedVersion", section: section) {
            check in
            for version in [0, 2, -1, Int.max] {
                try await check.refuses(
                    ["v": .integer(version), "id": "v", "type": "network.get"], .unsupportedVersion, id: "v")
            }
        },
        Check("lines.type.unknown", "an unknown type is refused as unknownType", section: section) { check in
            for type in ["network.got", "", "NETWORK.GET", "network.get "] {
                try await check.refuses(["v": 1, "id": "t", "type": .text(type)], .unknownType, id: "t")
            }
        },
        Check("lines.members.unknown", "unknown members are ignored", section: section) { check in
            let wire = try await check.open()
            let body: JSONValue = ["limit": 1, "colour": "blue", "nested": ["deep": [1, nil]]]
            let line = JSONValue.request(.getHistory, body, id: "u").with(["priority": 9, "signature": "x"])
            try await wire.exchange(line).expectSuccess(of: .getHistory, id: "u")
        },
        Check("lines.members.null", "a member that is null counts as absent", section: section) { check in
            let wire = try await check.open()
            for body: JSONValue in [["limit": nil], .null] {
                try await wire.exchange(.request(.getHistory, body, id: "n")).expectSuccess(of: .getHistory, id: "n")
            }
        },
        Check("lines.body.absent", "a body whose members are all optional may be left out", section: section) { check in
            let wire = try await check.open()
            for type in [MessageType.getHistory, .subscribe] {
                try await wire.ask(type).expectSuccess(of: type, id: nil)
            }
        },
        Check("lines.empty", "empty lines are ignored", section: section) { check in
            let wire = try await check.open()
            await wire.send(Array("\n\n\n".utf8) + JSONValue.request(.getNetwork, id: "e").line + Array("\n\n".utf8))
            try await wire.answer().expectSuccess(of: .getNetwork, id: "e")
            try await wire.exchange(.request(.getBackups, id: "f")).expectSuccess(of: .getBackups, id: "f")
        },
        Check("lines.order", "a hundred requests at once are answered in their order", section: section) { check in
            let wire = try await check.open()
            let types = [MessageType.getNetwork, .getBackups, .getCapabilities, .getHistory]
            let requests = (0..<100).map { ("o\($0)", types[$0 % types.count]) }
            await wire.send(requests.flatMap { JSONValue.request($1, id: $0).line + [UInt8(ascii: "\n")] })
            for (id, type) in requests {
                let answer = try await wire.answer()
                try answer.expectID(.text(id))
                // The device may refuse requests that come too fast, but must answer them in order.
                if answer.code != .tooManyRequests { try answer.expectSuccess(of: type, id: id) }
            }
        },
        Check("lines.pieces", "a line that arrives byte by byte is answered", section: section) { check in
            let wire = try await check.open()
            for byte in JSONValue.request(.getNetwork, id: "bytes").line + [UInt8(ascii: "\n")] {
                await wire.write([byte])
            }
            try await wire.answer().expectSuccess(of: .getNetwork, id: "bytes")
        },
        Check("lines.halfClose", "an app that has finished sending still gets the answers", section: section) { check in
            try check.needsDirectConnection()
            let wire = try await check.open()
            let ids = ["1", "2", "3"]
            await wire.send(ids.flatMap { JSONValue.request(.getNetwork, id: $0).line + [UInt8(ascii: "\n")] })
            await wire.finishSending()
            for id in ids { try await wire.answer().expectSuccess(of: .getNetwork, id: id) }
            try await wire.expectEnd()
        },
        Check("lines.last", "the end of the sending side ends the last line", section: section) { check in
            try check.needsDirectConnection()
            let wire = try await check.open()
            await wire.send(JSONValue.request(.getNetwork, id: "last").line)
            await wire.finishSending()
            try await wire.answer().expectSuccess(of: .getNetwork, id: "last")
            try await wire.expectEnd()
        },
        Check("lines.last.cut", "a last line that is cut off is malformed", section: section) { check in
            try check.needsDirectConnection()
            let wire = try await check.open()
            await wire.send(JSONValue.request(.getNetwork, id: "last").line.dropLast())
            await wire.finishSending()
            try await wire.answer().expectRefusal(.malformed)
            try await wire.expectEnd()
        },
        Check("lines.usable", "a connection stays usable after errors", section: section) { check in
            let wire = try await check.open()
            for _ in 0..<10 {
                try await wire.exchange(Array("no JSON".utf8)).expectRefusal(.malformed)
                try await wire.ask(.getSwitch, ["switchId": "none"]).expectRefusal(.unknownSwitch)
            }
            try await wire.ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
        },
    ]

    private static let section = "Lines"
}

extension CheckRun {
    fileprivate func echo(_ id: String) async throws {
        let wire = try await open()
        try await wire.exchange(.request(.getNetwork, id: id)).expectSuccess(of: .getNetwork, id: id)
    }

    /// Sends a line. Checks that the device refuses it and that the connection stays usable.
    func refuses(_ line: JSONValue, _ code: ErrorCode, id: String?, field: String? = nil) async throws {
        try await refuses(line.line, code, id: id, field: field)
    }

    func refuses(_ line: [UInt8], _ code: ErrorCode, id: String?, field: String?) async throws {
        let wire = try await open()
        let answer = try await wire.exchange(line)
        try answer.expectRefusal(code, field: field)
        try answer.expectID(id.map { .text($0) })
        try await wire.ask(.getCapabilities).expectSuccess(of: .getCapabilities, id: nil)
    }
}

extension Answer {
    /// Checks that a request succeeded and that the answer's members are as documented.
    /// - Parameter id: ID of the request; nil if it is already checked.
    func expectSuccess(of type: MessageType, id: String?) throws {
        if let id { try expectID(.text(id)) }
        guard let body = json["body"] else { throw Deviation("\(type.rawValue) succeeds", got: summary) }
        try Shape.body(of: type).check(body, "the answer to \(type.rawValue)")
    }
}

extension Wire {
    func expectEnd() async throws(Deviation) {
        switch try await next() {
        case .closed: return
        case .nothing: throw Deviation("the device closes the connection", got: "it stays open")
        case .line(let line):
            throw Deviation("the device closes the connection", got: Redaction.printable(line.prefix(200)))
        }
    }
}

extension Check {
    static let limits = [
        Check("limits.line.longest", "a line of exactly 65536 bytes is read", section: section) { check in
            let wire = try await check.open()
            try await wire.exchange(line(of: ProtocolLimits.lineLength)).expectSuccess(of: .getNetwork, id: "long")
        },
        Check(
            "limits.line.tooLong", "a line of 65537 bytes is answered lineTooLong, then the device closes",
            section: section
        ) { check in
            let wire = try await check.open()
            await wire.send(line: line(of: ProtocolLimits.lineLength + 1))
            let answer = try await wire.answer()
            try answer.expectRefusal(.lineTooLong, details: ["max": .integer(ProtocolLimits.lineLength)])
            try answer.expectID(nil)
            try await wire.expectEnd()
        },
        Check("limits.line.endless", "an endless line is answered while it arrives", section: section) { check in
            let wire = try await check.open()
            await wire.send(Array(repeating: UInt8(ascii: "x"), count: ProtocolLimits.lineLength + 1))
            try await wire.answer().expectRefusal(.lineTooLong)
            try await wire.expectEnd()
        },
        Check("limits.line.after", "a request after a line that is too long is ignored", section: section) { check in
            let wire = try await check.open()
            await wire.send(
                line(of: ProtocolLimits.lineLength + 1) + [UInt8(ascii: "\n")]
                    + JSONValue.request(.getNetwork, id: "after").line + [UInt8(ascii: "\n")])
            try await wire.answer().expectRefusal(.lineTooLong)
            try await wire.expectEnd()
        },
        Check(
            "limits.update.entries", "an update with 65 entries is refused as tooManyNetworks",
            section: "backups.update", touchesBackups: true
        ) { check in
            let wire = try await check.open()
            let entries = (0...ProtocolLimits.updateEntries).map {
                ["ssid": .text("n\($0)"), "security": "open"] as JSONValue
            }
            try await wire.ask(.updateBackups, ["networks": .array(entries)]).expectRefusal(
                .tooManyNetworks, details: ["count": .integer(entries.count)])
        },
        Check("limits.confirm", "confirmWithin has 5 to 600 seconds", section: "network.switch") { check in
            let wire = try await check.open()
            for seconds in [4, 601, 0, -1, Int.max] {
                let body: JSONValue = ["hash": .text(unknownHash), "confirmWithin": .integer(seconds)]
                try await wire.ask(.switchNetwork, body).expectRefusal(.malformed, field: "body.confirmWithin")
            }
        },
        Check("limits.scan.targets", "a scan names at most 64 networks", section: "scan.start, scan.get") { check in
            let wire = try await check.open()
            let ssids = (0...ProtocolLimits.scanTargets).map { ["ssid": .text("n\($0)")] as JSONValue }
            try await wire.ask(.startScan, ["ssids": .array(ssids)]).expectRefusal(.malformed, field: "body.ssids")
        },
        Check("limits.scan.frequencies", "a scan names at most 64 frequencies", section: "scan.start, scan.get") {
            check in
            let wire = try await check.open()
            let frequencies = (0...ProtocolLimits.scanTargets).map { JSONValue.integer(2412 + 5 * $0) }
            try await wire.ask(.startScan, ["frequencies": .array(frequencies)]).expectRefusal(
                .malformed, field: "body.frequencies")
        },
    ]

    /// Base64 of 32 zero bytes. No network has this hash.
    static let unknownHash = String(repeating: "A", count: 43) + "="

    /// Returns a request of this length in bytes.
    private static func line(of length: Int) -> [UInt8] {
        let empty = JSONValue.request(.getNetwork, id: "long").with(["padding": ""]).line
        let padding = String(repeating: "x", count: length - empty.count)
        return JSONValue.request(.getNetwork, id: "long").with(["padding": .text(padding)]).line
    }
}
