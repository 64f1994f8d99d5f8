import AppProtocol
import JSONValues

extension Check {
    static let events = [
        event("subscribe", "the answer says where the device stands", section: "events.subscribe") { check in
            let wires = [try await check.open(), try await check.open()]
            let (first, second) = (try await wires[0].subscribe(), try await wires[1].subscribe())
            try expect("one stream", first.stream, is: second.stream)
            try expect("a number that does not fall", second.seq >= first.seq, got: "\(second.seq) after \(first.seq)")
        },
        event("once", "a connection subscribes once", section: "events.subscribe") { check in
            let wire = try await check.listening()
            try await wire.ask(.subscribe).expectRefusal(.unsupported, field: "type")
            try await wire.ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
        },
        event("none", "a connection that has not subscribed gets no events", touchesBackups: true) { check in
            let (wire, listener) = (try await check.open(), try await check.listening())
            _ = try await check.update([try check.fresh()], on: wire)
            _ = try await listener.event("backups.changed") { $0.backups }
            try await wire.ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
            try expect("no events", wire.hasEvents, is: false)
        },
        event("sequence", "events are numbered without holes", touchesBackups: true) { check in
            let wire = try await check.open()
            let start = try await wire.subscribe()
            var last = start.seq
            for _ in 0..<5 {
                let list = try await check.update([try check.fresh()], on: wire)
                // The wire checks that all events arrive in order.
                last = try await wire.event("backups.changed") { $0.backups?.revision == list.revision ? $0.seq : nil }
            }
            try expect("five events at least", last >= start.seq + 5, got: "\(last - start.seq)")
        },
        event("everybody", "two subscribers get the same events", touchesBackups: true) { check in
            let wires = [try await check.listening(), try await check.listening()]
            let list = try await check.update([try check.fresh()], on: wires[0])
            var numbers: [Int] = []
            for wire in wires {
                numbers.append(
                    try await wire.event("backups.changed") { $0.backups?.revision == list.revision ? $0.seq : nil })
            }
            try expect("one number for one event", numbers[0], is: numbers[1])
        },
        event("resume", "an app that was away gets what it missed", section: "events.subscribe", touchesBackups: true) {
            check in
            let first = try await check.open()
            let position = try await first.subscribe()
            await first.close()
            let wire = try await check.open()
            let list = try await check.update([try check.fresh()], on: wire)
            try await wire.subscribe(since: position.seq, stream: position.stream)
            let missed = try await wire.event("the change that was missed") { $0.backups }
            try expect("the list", missed.shown, is: list.shown)
        },
        event("future", "a number that no event has is refused", section: "events.subscribe") { check in
            let wire = try await check.open()
            let position = try await check.open().subscribe()
            for since in [position.seq + 1_000_000, Int.max, -1] {
                for stream in [nil, position.stream] {
                    var body: [String: JSONValue] = ["since": .integer(since)]
                    if let stream { body["stream"] = .text(stream) }
                    try await wire.ask(.subscribe, .object(body)).expectRefusal(.malformed, field: "body.since")
                }
            }
            try await wire.subscribe(since: position.seq, stream: position.stream)
        },
        event("otherStream", "after a restart, what was before is said to be missing", section: "events.subscribe") {
            check in
            let wire = try await check.open()
            // A number that this run has not reached belongs to the other stream too.
            try await wire.subscribe(since: 1_000_000, stream: "harness-other")
            let gap = try await wire.event("a gap") { $0.gap }
            try expect("the gap's reason", gap.reason, is: .restarted)
        },
        event("beginning", "from the beginning, there are all events, or a gap says how many are not") { check in
            let position = try await check.open().subscribe()
            guard position.seq > 0 else { throw Obstacle("nothing has happened on the device yet") }
            let wire = try await check.open()
            try await wire.subscribe(since: 0, stream: position.stream)
            // Each event is checked: the first has number 1, or is a gap that starts at 1.
            _ = try await wire.event("the newest event") { $0.seq >= position.seq ? true : nil }
        },
        event("cut", "a connection that is cut in a request leaves no trace", touchesBackups: true) { check in
            let wire = try await check.open()
            let before: BackupList = try await wire.get(.getBackups)
            let position = try await check.open().subscribe()
            let request = JSONValue.request(.updateBackups, .networks(before.references), id: "cut").line
            await wire.send(Array(request.dropLast(5)))
            await wire.close()
            let next = try await check.open()
            let after: BackupList = try await next.get(.getBackups)
            try expect("the list as it was", after.shown, is: before.shown)
            try await next.subscribe(since: position.seq, stream: position.stream)
            let list = try await check.update([try check.fresh()], on: next)
            let received = try await next.event("backups.changed") { $0.backups }
            try expect("only what was asked for whole", received.shown, is: list.shown)
        },
    ]

    private static func event(
        _ name: String, _ title: String, section: String = "Events", touchesBackups: Bool = false,
        _ body: @escaping @Sendable (CheckRun) async throws -> Void
    ) -> Check {
        Check("events.\(name)", title, section: section, touchesBackups: touchesBackups, body)
    }
}
