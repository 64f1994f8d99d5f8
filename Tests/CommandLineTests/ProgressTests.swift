import AgentModel
import AppProtocol
import Foundation
import Synchronization
import Testing

@testable import altnet

/// What a person sees of a command that takes its time.
@Suite struct ProgressTests {
    private func text(_ steps: String..., width: Int = .max, unicode: Bool = true) -> String {
        ProgressLine.text(steps, turn: 2, elapsed: .milliseconds(4999), Style(isUnicode: unicode, width: width))
    }

    @Test func stepsStandInALine() {
        #expect(text("accepted", "joining") == "⠹ accepted › joining  4 s")
        #expect(text("accepted", "joining", unicode: false) == "- accepted > joining  4 s")
        #expect(text() == "")
    }

    /// What is going on is seen as long as there is any room at all; one column stays free.
    @Test(arguments: [
        (60, "⠹ accepted › joining › waiting for an address  4 s"), (50, "⠹ joining › waiting for an address  4 s"),
        (39, "⠹ waiting for an address  4 s"), (20, "⠹ waiting for…  4 s"), (10, "⠹ w…  4 s"), (5, ""),
    ])
    func theLineFitsTheTerminal(width: Int, line: String) {
        #expect(text("accepted", "joining", "waiting for an address", width: width) == line)
        #expect(line.columns < width)
    }

    @Test func aSwitchIsOneLineThatIsGoneInTheEnd() async throws {
        let device = try ScriptedDevice {
            $0.phases = [.joining, .waitingForAddress, .committed].map { SwitchStatus(switchId: "s-1", phase: $0) }
        }
        let run = try await CommandRun.altnet(
            ["switch", "Attic", "--confirm-within", "30"], device: device, spinner: Style(width: 80))
        #expect(run.output.hasPrefix("Connected to Attic in "))
        #expect(run.errors.contains("accepted › joining › waiting for an address"))
        #expect(run.errors.filter { $0 == "\n" }.count == 1)
        #expect(run.errors.contains("\r\u{1b}[KWithin 30 s of being connected, confirm it with"))
        #expect(run.errors.hasSuffix("\r\u{1b}[K"))
    }

    /// What is advised begins on an empty line, whatever is drawn at that moment.
    @Test func adviceHasALineOfItsOwn() async {
        let written = Mutex<[String]>([])
        var console = Console.silent()
        console.spinner = Style(width: 80)
        console.errors = { text in
            written.withLock { $0.append(text) }
            // Whoever else writes has the occasion now.
            for _ in 0..<10 { sched_yield() }
        }
        await console.showingProgress { progress in
            let stepping = Task {
                for turn in 0..<10_000 where !Task.isCancelled { progress.show("step \(turn % 2)") }
            }
            while written.withLock({ $0.isEmpty }) { await Task.yield() }
            for _ in 0..<2_000 { progress.advise("look here") }
            stepping.cancel()
            await stepping.value
        }
        let writes = written.withLock { $0 }
        let advice = writes.indices.filter { writes[$0] == "look here\n" }
        #expect(advice.count == 2_000)
        #expect(advice.allSatisfy { writes[$0 - 1] == "\r" + Control.eraseToEndOfLine })
        #expect(writes.last == "\r" + Control.eraseToEndOfLine)
    }

    @Test func aScanToo() async throws {
        let watched = try await CommandRun.altnet(["scan"], device: ScriptedDevice(), spinner: Style(width: 80))
        #expect(watched.errors.contains("scanning  2 s"))
        #expect(watched.errors.hasSuffix("\r\u{1b}[K"))
        let lines = try await CommandRun.altnet(["scan"], device: ScriptedDevice())
        #expect(lines.errors == "  scanning...\n")
    }

    @Test(arguments: [(0, "0.0 s"), (99, "0.0 s"), (4250, "4.2 s"), (61_000, "61.0 s"), (-5, "0.0 s")])
    func timesAreInSeconds(milliseconds: Int, text: String) {
        #expect(Wording.seconds(.milliseconds(milliseconds)) == text)
    }
}
