import AppProtocol
import JSONValues

extension Check {
    static let events = [
        event("subscribe", "the answer has the stream and its last number", section: "events.subscribe") { check in
            let wires = [try await check.open(), try await check.open()]
            let (first, second) = (try await wires[0].subscribe(), try await wires[1].subscribe())
            try expect("one stream", first.stream, is: second.stream)
            try expect("a number not below the first", second.seq >= first.seq, got: "\(second.seq) after \(first.seq)")
        },
        event("once", "a second subscription of a connection is refused", section: "events.subscribe") { check in
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
        event("sequence", "event numbers have no gaps", touchesBackups: true) { check in
            let wire = try await check.open()
            let start = try await wire.subscribe()
            var last = start.seq
            for _ in 0..<5 {
                let list = try await check.update([try check.fresh()], on: wire)
                // The wire checks that all events arrive in order.
                last = try await wire.event("backups.changed") { $0.backups?.revision == list.revision ? $0.seq : nil }
            }
            try expect("at least five events", last >= start.seq + 5, got: "\(last - start.seq)")
        },
        event("everybody", "two subscribers get the same events", touchesBackups: true) { check in
            let wires = [try await check.listening(), try await check.listening()]
            let list = try await check.update([try check.fresh()], on: wires[0])
            var numbers: [Int] = []
            for wire in wires {
                numbers.append(
                    try await wire.event("backups.changed") { $0.backups?.revision == list.revision ? $0.seq : nil })
            }
            try expect("the same number on both connections", numbers[0], is: numbers[1])
        },
        event(
            "resume", "an app that subscribes again gets missed events", section: "events.subscribe",
            touchesBackups: true
        ) {
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
        event("future", "a number after the last event is refused", section: "events.subscribe") { check in
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
        event("otherStream", "after a restart, a gap replaces earlier events", section: "events.subscribe") {
            check in
            let wire = try await check.open()
            // A number that this run has not reached also belongs to the other stream.
            try await wire.subscribe(since: 1_000_000, stream: "harness-other")
            let gap = try await wire.event("a gap") { $0.gap }
            try expect("the gap's reason", gap.reason, is: .restarted)
        },
        event("beginning", "a request for all events gives all, or a gap with the number of the others") { check in
            let position = try await check.open().subscribe()
            guard position.seq > 0 else { throw Obstacle("the device has had no event yet") }
            let wire = try await check.open()
            try await wire.subscribe(since: 0, stream: position.stream)
            // The wire checks each event: the first has number 1, or is a gap that starts at 1.
            _ = try await wire.event("the newest event") { $0.seq >= position.seq ? true : nil }
        },
        event("cut", "a connection that breaks within a request has no effect", touchesBackups: true) { check in
            let wire = try await check.open()
            let before: BackupList = try await wire.get(.getBackups)
            let position = try await check.open().subscribe()
            let request = JSONValue.request(.updateBackups, .networks(before.references), id: "cut").line
            await wire.send(Array(request.dropLast(5)))
            await wire.close()
            let next = try await check.open()
            let after: BackupList = try await next.get(.getBackups)
            try expect("the unchanged list", after.shown, is: before.shown)
            try await next.subscribe(since: position.seq, stream: position.stream)
            let list = try await check.update([try check.fresh()], on: next)
            let received = try await next.event("backups.changed") { $0.backups }
            try expect("only the change of the complete request", received.shown, is: list.shown)
        },
    ]

    private static func event(
        _ name: String, _ title: String, section: String = "Events", touchesBackups: Bool = false,
        _ body: @escaping @Sendable (CheckRun) async throws -> Void
    ) -> Check {
        Check("events.\(name)", title, section: section, touchesBackups: touchesBackups, body)
    }
}
