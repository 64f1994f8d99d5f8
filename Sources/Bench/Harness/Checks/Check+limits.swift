import AppProtocol

extension Check {
    static let limits = [
        Check("limits.line.longest", "a line of exactly 65536 bytes is read", section: section) { trial in
            let wire = try await trial.open()
            try await wire.exchange(line(of: ProtocolLimits.lineLength)).expectSuccess(of: .getNetwork, id: "long")
        },
        Check("limits.line.tooLong", "one byte more is answered lineTooLong, and the end", section: section) { trial in
            let wire = try await trial.open()
            await wire.send(line: line(of: ProtocolLimits.lineLength + 1))
            let answer = try await wire.answer()
            try answer.expectRefusal(.lineTooLong, details: ["max": .integer(ProtocolLimits.lineLength)])
            try answer.expectID(nil)
            try await wire.expectEnd()
        },
        Check("limits.line.endless", "a line without end is answered before it ends", section: section) { trial in
            let wire = try await trial.open()
            await wire.send(Array(repeating: UInt8(ascii: "x"), count: ProtocolLimits.lineLength + 1))
            try await wire.answer().expectRefusal(.lineTooLong)
            try await wire.expectEnd()
        },
        Check("limits.line.after", "nothing after a line that is too long is obeyed", section: section) { trial in
            let wire = try await trial.open()
            await wire.send(
                line(of: ProtocolLimits.lineLength + 1) + [UInt8(ascii: "\n")]
                    + JSONValue.request(.getNetwork, id: "after").line + [UInt8(ascii: "\n")])
            try await wire.answer().expectRefusal(.lineTooLong)
            try await wire.expectEnd()
        },
        Check(
            "limits.update.entries", "an update with 65 entries is refused as tooManyNetworks",
            section: "backups.update", touchesBackups: true
        ) { trial in
            let wire = try await trial.open()
            let entries = (0...ProtocolLimits.updateEntries).map {
                ["ssid": .text("n\($0)"), "security": "open"] as JSONValue
            }
            try await wire.ask(.updateBackups, ["networks": .array(entries)]).expectRefusal(
                .tooManyNetworks, details: ["count": .integer(entries.count)])
        },
        Check("limits.confirm", "confirmWithin has 5 to 600 seconds", section: "network.switch") { trial in
            let wire = try await trial.open()
            for seconds in [4, 601, 0, -1, Int.max] {
                let body: JSONValue = ["hash": .text(unknownHash), "confirmWithin": .integer(seconds)]
                try await wire.ask(.switchNetwork, body).expectRefusal(.malformed, field: "body.confirmWithin")
            }
        },
        Check("limits.scan.targets", "a scan names at most 64 networks", section: "scan.start, scan.get") { trial in
            let wire = try await trial.open()
            let ssids = (0...ProtocolLimits.scanTargets).map { ["ssid": .text("n\($0)")] as JSONValue }
            try await wire.ask(.startScan, ["ssids": .array(ssids)]).expectRefusal(.malformed, field: "body.ssids")
        },
        Check("limits.scan.frequencies", "a scan names at most 64 frequencies", section: "scan.start, scan.get") {
            trial in
            let wire = try await trial.open()
            let frequencies = (0...ProtocolLimits.scanTargets).map { JSONValue.integer(2412 + 5 * $0) }
            try await wire.ask(.startScan, ["frequencies": .array(frequencies)]).expectRefusal(
                .malformed, field: "body.frequencies")
        },
    ]

    private static let section = "Lines"

    /// The Base64 of 32 zero bytes, which no hash ever is.
    static let unknownHash = String(repeating: "A", count: 43) + "="

    /// A request of exactly so many bytes.
    private static func line(of length: Int) -> [UInt8] {
        let empty = JSONValue.request(.getNetwork, id: "long").with(["padding": ""]).line
        let padding = String(repeating: "x", count: length - empty.count)
        return JSONValue.request(.getNetwork, id: "long").with(["padding": .text(padding)]).line
    }
}
