import AppProtocol

extension Check {
    /// What others do to the device does not reach its owner.
    static let robustness = [
        robust("connections", "of too many connections the last ones are told busy, the first is served") { trial in
            let first = try await trial.open()
            try await first.ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
            var refused = 0
            for _ in 0..<64 {
                let wire = try await trial.open()
                await wire.send(line: .request(.getNetwork, id: "many"))
                let answer = try await wire.answer()
                switch answer.code {
                case .busy:
                    try answer.expectID(nil)
                    try await wire.expectEnd()
                    refused += 1
                case .tooManyRequests: try await answer.waitAsTold()
                default: try answer.expectSuccess(of: .getNetwork, id: "many")
                }
                if refused == 3 { break }
            }
            try expect("busy, long before the 64th connection", refused == 3, got: "\(refused) times")
            // It is told before it says anything.
            let silent = try await trial.open()
            try await silent.answer().expectRefusal(.busy)
            try await silent.expectEnd()
            try await first.ask(.getNetwork).expectSuccess(of: .getNetwork, id: nil)
            await trial.closeConnections()
            try await trial.expectServed()
        },
        robust("abrupt", "connections that come and go leave nothing behind") { trial in
            for _ in 0..<100 { await (try await trial.open()).close() }
            try await trial.expectServed()
        },
        robust("garbage", "bytes of any sort are answered with errors, or with the end") { trial in
            // The same bytes in every run: xorshift64 (Marsaglia, 2003).
            var state: UInt64 = 0x9e37_79b9_7f4a_7c15
            for _ in 0..<10 {
                let wire = try await trial.open()
                let bytes = (0..<2000).map { _ in
                    state ^= state << 13
                    state ^= state >> 7
                    state ^= state << 17
                    return UInt8(truncatingIfNeeded: state)
                }
                await wire.send(bytes)
                await wire.finishSending()
                let deadline = ContinuousClock.now + wire.patience
                while case .line(let line) = try await wire.next(within: deadline - .now) {
                    let code = try Answer(line).code
                    try expect(
                        "malformed", code == .malformed || code == .tooManyRequests, got: code?.rawValue ?? "success")
                }
            }
            try await trial.expectServed()
        },
        robust("slowReader", "who does not read holds up nobody else") { trial in
            let deaf = try await trial.open()
            await deaf.stopReading()
            deaf.flood((0..<5000).flatMap { JSONValue.request(.getHistory, id: "\($0)").line + [UInt8(ascii: "\n")] })
            try await trial.expectServed()
        },
        robust("flood", "who asks too fast is told when to go on, or is answered") { trial in
            let wire = try await trial.open()
            wire.flood(
                (0..<1000).flatMap { JSONValue.request(.getCapabilities, id: "\($0)").line + [UInt8(ascii: "\n")] })
            var refused: Answer?
            for number in 0..<1000 {
                guard case .line(let line) = try await wire.next() else { break }
                let answer = try Answer(line)
                try answer.expectID(.text("\(number)"))
                if answer.code == .tooManyRequests {
                    refused = answer
                } else {
                    try answer.expectSuccess(of: .getCapabilities, id: nil)
                }
            }
            try await refused?.waitAsTold()
            try await trial.expectServed()
        },
    ]

    private static func robust(
        _ name: String, _ title: String, _ body: @escaping @Sendable (Trial) async throws -> Void
    ) -> Check {
        Check("robustness.\(name)", title, section: "The network", body)
    }
}

extension Trial {
    /// Checks that the device serves a new connection, as soon as it has noticed that others have gone.
    fileprivate func expectServed() async throws {
        let deadline = ContinuousClock.now + target.patience
        while true {
            let wire = try await open()
            let id = wire.newID()
            let answer = try await wire.exchange(.request(.getNetwork, id: id))
            if answer.code != .busy || .now > deadline { return try answer.expectSuccess(of: .getNetwork, id: id) }
            await pause(.milliseconds(100))
        }
    }
}
