import AgentModel
import AppProtocol
import JSONValues

extension Check {
    static let names = [
        name("kept", "a name in any language is kept, without white space at its ends") { check, wire in
            let texts = ["Kitchen lamp", "Lampe Küche", "厨房灯", "रसोई की बत्ती", "مصباح", "👩‍👩‍👧‍👦", "\u{3000} a \t"]
            let other = try await check.open()
            for text in texts {
                let name = try DeviceName(text)
                try expect("the name in the answer", try await check.set(["name": .text(text)], wire), is: name)
                let status: NetworkStatus = try await other.get(.getNetwork)
                try expect("the name in network.get", status.deviceName, is: name)
            }
        },
        name("longest", "64 characters and 256 bytes are accepted, one more of either is refused") { check, wire in
            let longest = String(repeating: "\u{1f4a1}", count: 64)
            let accents = "a" + String(repeating: "\u{301}", count: 128)
            try expect(
                "the whole name", try await check.set(["name": .text(longest)], wire)?.text.count,
                is: DeviceName.maximumCharacters)
            for text in [longest + "a", String(repeating: "a", count: 65), accents] {
                try await wire.ask(.setName, ["name": .text(text)]).expectRefusal(.malformed, field: "body.name")
            }
        },
        name("cleared", "a cleared name is gone, and clearing it again succeeds") { check, wire in
            _ = try await check.set(["name": "harness"], wire)
            for _ in 0..<2 { try expect("no name", try await check.set(["clear": true], wire), is: nil) }
        },
        name("refused", "an unsafe, empty or too long name is refused, and the earlier name stays") { check, wire in
            _ = try await check.set(["name": "harness"], wire)
            let family = "\u{1f468}" + String(repeating: "\u{200d}\u{1f468}", count: 300)
            let texts = [
                "", "  ", "\u{200b}", "a\nb", "a\u{0}b", "\u{1b}[2J", "a\u{2028}b", "a\u{202e}b", "a\u{2066}b", family,
                String(repeating: "\u{1f4a1}", count: 10_000),
            ]
            let bodies: [JSONValue] =
                texts.map { ["name": .text($0)] } + [
                    [:], ["name": 7], ["name": .null], ["clear": false], ["clear": true, "name": "a"],
                ]
            for body in bodies { try await wire.ask(.setName, body).expectRefusal(.malformed, field: "body.name") }
            let status: NetworkStatus = try await wire.get(.getNetwork)
            try expect("the earlier name", status.deviceName?.text, is: "harness")
        },
        name("event", "a new name is in an event network.changed") { check, wire in
            try await wire.subscribe()
            _ = try await check.set(["clear": true], wire)
            _ = try await check.set(["name": "harness"], wire)
            _ = try await wire.event("network.changed with the name") { event -> DeviceName? in
                guard case .networkChanged(let status) = event.body else { return nil }
                return status.deviceName
            }
        },
    ]

    private static func name(
        _ name: String, _ title: String, _ body: @escaping @Sendable (CheckRun, Wire) async throws -> Void
    ) -> Check {
        Check("name.set.\(name)", title, section: "name.set") { check in
            try check.needsFeature("name")
            let wire = try await check.open()
            let before: NetworkStatus = try await wire.get(.getNetwork)
            let result: Result<Void, any Error>
            do { result = .success(try await body(check, wire)) } catch { result = .failure(error) }
            _ = try await check.set(before.deviceName.map { ["name": .text($0.text)] } ?? ["clear": true], wire)
            try result.get()
        }
    }
}

extension CheckRun {
    fileprivate func set(_ body: JSONValue, _ wire: Wire) async throws -> DeviceName? {
        let status: NetworkStatus = try await wire.get(.setName, body)
        return status.deviceName
    }
}
