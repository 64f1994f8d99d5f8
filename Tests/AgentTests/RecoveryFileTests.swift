import AgentCore
import AgentModel
import Randomness
import Testing

@testable import Agent

/// What is remembered of the steps against faults of the radio.
@Suite struct RecoveryFileTests {
    private let now = Instant(milliseconds: 5_000_000)

    private var memory: RecoverySteps.PersistentState {
        var memory = RecoverySteps.PersistentState()
        for (index, step) in RecoverySteps.Step.allCases.enumerated() {
            memory.setPerformed(step, at: Instant(milliseconds: Int64(index) * 1000))
        }
        memory.needsPowerCycle = true
        return memory
    }

    private func read(_ text: String, boot: String = "b-1") -> RecoverySteps.PersistentState {
        RecoveryFile.state(in: Array(text.utf8), boot: boot, now: now)
    }

    @Test func isReadAsItWasWritten() {
        #expect(read(RecoveryFile.text(of: memory, boot: "b-1")) == memory)
    }

    /// A moment before the system started is not known any more: it counts as now, so that nothing is done too soon.
    @Test func ofAnEarlierStartTheStepsCountAsTakenNow() {
        let later = read(RecoveryFile.text(of: memory, boot: "b-1"), boot: "b-2")
        #expect(later.performed.keys.count == RecoverySteps.Step.allCases.count)
        #expect(later.performed.values.allSatisfy { $0 == now })
        #expect(!later.needsPowerCycle)
    }

    @Test func aMomentOfTheFutureForbidsNothingForEver() {
        let text = "altnet-recovery 1\nboot b-1\nreboot 9223372036854775807\nrebindDriver -5\nend\n"
        #expect(read(text).performed == [.reboot: now, .rebindDriver: now])
    }

    @Test(arguments: [
        "", "end", "altnet-recovery 2\nboot b-1\nreboot 1\nend\n", "altnet-recovery 1\nboot b-1\nreboot 1\n",
        "altnet-recovery 1\nboot b-1\nfly 1\nreboot one\nreboot\nend\n", String(repeating: "x", count: 100_000),
    ])
    func whatMakesNoSenseIsAsIfItWereNotThere(text: String) {
        #expect(read(text) == RecoverySteps.PersistentState())
    }

    @Test func anyBytesAreSurvived() {
        var random = SeededRandom(seed: 23)
        let good = Array(RecoveryFile.text(of: memory, boot: "b-1").utf8)
        for _ in 0..<Rounds.of(20_000) {
            var bytes = good
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let memory = RecoveryFile.state(in: bytes, boot: "b-1", now: now)
            #expect(memory.performed.values.allSatisfy { $0 <= now })
        }
    }

    @Test func isKeptInTheStateDirectory() async throws {
        try await inFolder { folder in
            let file = RecoveryFile(directory: folder)
            #expect(file.read(boot: "b-1", now: now) == RecoverySteps.PersistentState())
            try file.write(memory, boot: "b-1")
            try file.write(memory, boot: "b-1")
            #expect(file.read(boot: "b-1", now: now) == memory)
        }
    }
}

/// The answers of root's helper.
@Suite struct RadioHelperTests {
    @Test func anAnswerIsRead() {
        func problem(_ text: String) -> String? { RadioHelper.problem(in: .success(Array(text.utf8))) }
        #expect(problem("ok\n") == nil)
        #expect(problem("refused wlan0 is gone\n") == "wlan0 is gone")
        #expect(problem("refused \u{1b}[31mred\n")?.contains("\u{1b}") == false)
        #expect(problem("")?.contains("journalctl") == true)
        #expect(problem("okay\n") != nil)
        #expect(RadioHelper.problem(in: .failure(.silent))?.contains("helper") == true)
        #expect(RadioHelper.problem(in: .failure(.notThere(path: "/run/x")))?.contains("altnet-radio.socket") == true)
    }
}
