import AgentCore
import AgentModel
import AppProtocol
import Foundation
import Linux
import TestTime
import Testing

@testable import Agent

/// The findings at each layer, in words.
@Suite struct DiagnosisTests {
    private static let good = DiagnosisFacts(
        radio: .init(interface: "wlan0"), association: .joined("HomeNet", signal: -55, isWeak: false),
        addresses: .init(own: ["192.168.10.23"], hasRoute: true), gatewayAnswers: true, hasWayOut: true,
        names: .found("mqtt.example.com"), internet: .asked(.online),
        targets: [.init(name: "broker", place: "mqtt.example.com:8883")])

    private func results(_ change: (inout DiagnosisFacts) -> Void) -> [Diagnosis.Result] {
        var facts = Self.good
        change(&facts)
        return facts.steps.map(\.result)
    }

    /// The example in the document is what a device says.
    @Test func asInTheDocument() throws {
        var facts = Self.good
        facts.association = .joined("HomeNet", signal: -78, isWeak: true)
        facts.internet = .notSet
        facts.targets?[0].problem = .connectionRefused
        let said = Diagnosis(steps: facts.steps, checked: Timestamp("2026-02-03T04:06:12.000Z"))
        let answers = try Self.document().split(separator: "\n").filter { $0.contains(#""layer":"radio""#) }
        let answer = try #require(answers.first?.dropFirst(3))
        struct Answer: Decodable { let body: Diagnosis }
        #expect(try JSONDecoder().decode(Answer.self, from: Data(answer.utf8)).body == said)
        #expect(answers.count == 1)
    }

    private static func document() throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent("Docs/reference/protocol.md"), encoding: .utf8)
    }

    @Test func whereAllIsGoodNothingIsToBeDone() {
        #expect(Self.good.steps.allSatisfy { $0.result == .good && $0.remedy == nil })
        #expect(Self.good.steps.map(\.layer) == Diagnosis.Layer.allCases)
    }

    @Test func aLinkThatCarriesNothingIsDoubtful() {
        let results = results { $0.linkFault = "nothing gets through; joining the network again" }
        #expect(results[1] == .doubtful && results[2] == .good)
    }

    @Test func aCableThatFailedBesideAGoodNetworkIsDoubtful() {
        var facts = Self.good
        facts.failedUplinks = ["eth0": .timedOut]
        let step = facts.steps.first { $0.layer == .internet }
        #expect(step?.result == .doubtful && step?.found.contains("eth0") == true && step?.remedy != nil)
    }

    @Test func belowWhatIsNotJoinedNothingIsBlamed() {
        // The others are asked by another way out, where there is one.
        for association in [DiagnosisFacts.Association.notConnected(known: 2), .joining("HomeNet")] {
            let results = results {
                $0.association = association
                $0.addresses = .init(own: [], hasRoute: false)
                $0.gatewayAnswers = nil
            }
            #expect(results[1] != .good && results[2] == .skipped && results[3] == .skipped)
            #expect(results[4...] == [.good, .good, .good])
        }
        for fault in [AgentCore.SearchFault.nothingStored, .onlyManual] {
            #expect(results { $0.association = .idle(fault) }[1] == .broken)
        }
        let offline = results {
            $0 = DiagnosisFacts(radio: .init(interface: "wlan0", isThere: false), association: .notConnected(known: 1))
            $0.addresses = .init(own: [], hasRoute: false)
            $0.hasWayOut = false
        }
        #expect(offline == [.broken] + Array(repeating: .skipped, count: 6))
    }

    @Test func aGatewayThatIsSilentIsBlamedOnlyForSilenceBehindIt() {
        #expect(results { $0.gatewayAnswers = false }[3] == .good, "something behind it answers")
        let silent = results {
            $0.gatewayAnswers = false
            $0.internet = .asked(.failed(.timedOut))
            $0.targets?[0].problem = .timedOut
        }
        #expect(silent[3] == .broken)
        #expect(
            results {
                $0.gatewayAnswers = false; $0.internet = .notSet
            }[3] == .good, "the server does")
    }

    @Test func anAddressThatHasNotComeIsTheRoutersDoing() {
        let results = results { $0.addresses = .init(own: [], hasRoute: false) }
        #expect(results[2] == .broken && results[3] == .skipped)
    }

    @Test func whatNoTimeWasLeftForIsSkipped() {
        var facts = Self.good
        facts.internet = nil
        facts.targets = nil
        let late = facts.steps.filter { $0.result == .skipped }
        #expect(late.map(\.layer) == [.internet, .target])
        #expect(late.allSatisfy { $0.found.contains("no time") })
        #expect(DiagnosisFacts().steps.map(\.layer) == Diagnosis.Layer.allCases)
    }

    @Test func whyTheSignInFailedIsSaid() {
        var facts = Self.good
        facts.internet = .asked(.captive(portal: "http://portal/"), signIn: "cafe: it ended before it answered")
        let step = facts.steps[5]
        #expect(step.result == .broken && step.found.contains("cafe: it ended before it answered"))
        #expect(step.remedy?.contains("http://portal/") == true)
    }

    /// Where there is no way out, and a modem could be one.
    @Test(arguments: [
        (ModemStatus.State.registered, "registered", "--simple-connect"), (.locked, "locked", "--pin"),
        (.failed, "failed", "SIM"),
    ])
    func aModemThatIsNotConnectedIsNamed(state: ModemStatus.State, name: String, remedy: String) {
        var facts = DiagnosisFacts()
        (facts.hasWayOut, facts.modem) = (false, ModemStatus(interface: "wwan0", state: state))
        let step = facts.steps.first { $0.layer == .internet }
        #expect(step?.found.contains("wwan0") == true && step?.found.contains("(\(name))") == true)
        #expect(step?.remedy?.contains(remedy) == true)
        facts.modem?.state = .connected
        #expect(facts.steps.first { $0.layer == .internet }?.remedy == nil)
    }

    @Test func aKernelWithoutWiFiIsNamed() {
        let facts = DiagnosisFacts(radio: .init(interface: "wlan0", isSupported: false, isThere: false))
        #expect(facts.steps[0].result == .broken && facts.steps[0].found.contains("nl80211"))
        #expect(facts.steps[1].result == .skipped)
    }

    // covers: seed/blocked-radio
    @Test(arguments: [(RadioBlock.soft, "ALTNET_COUNTRY"), (.hard, "Switch it on")])
    func aRadioThatIsBlockedIsToldWithTheRemedy(block: RadioBlock, remedy: String) {
        let facts = DiagnosisFacts(radio: .init(interface: "wlan0", isUp: false, block: block))
        #expect(facts.steps[0].result == .broken && facts.steps[0].found.contains("rfkill"))
        #expect(facts.steps[0].remedy?.contains(remedy) == true)
        #expect(facts.steps[1].result == .skipped)
    }

    /// A device says what to do about whatever it finds broken.
    @Test func everyBreakHasARemedy() {
        var all: [DiagnosisFacts] = []
        for problem in ReachProblem.allCases {
            var facts = Self.good
            facts.names = .notFound("a.example", problem)
            facts.internet = .asked(.failed(problem))
            facts.targets?[0].problem = problem
            all.append(facts)
        }
        for (isThere, isUp) in [(false, false), (true, false), (true, true)] {
            var facts = Self.good
            facts.radio = .init(interface: "wlan0", isThere: isThere, isUp: isUp, isSupplicantAvailable: false)
            all.append(facts)
        }
        all.append(DiagnosisFacts(radio: .init(interface: "wlan0", isSupported: false, isThere: false, isUp: false)))
        for step in all.flatMap(\.steps) where step.result == .broken || step.result == .doubtful {
            #expect(step.remedy?.isEmpty == false, "\(step)")
        }
    }
}

/// Diagnoses are shared and paced.
@AgentLoop @Suite struct DiagnosisRunnerTests {
    private let clock = Clock()

    @Test func allWhoAskMeanwhileShareOne() async throws {
        let bench = DiagnosisRunner(now: { [clock] in clock.now })
        var looks = 0
        let gate = Gate()
        let asked = (1...20).map { _ in
            Task {
                await bench.diagnosis { course in
                    looks += 1
                    course.facts.radio = .init(interface: "wlan\(looks)")
                    await gate.pass()
                }
            }
        }
        try await gate.isReached()
        gate.open()
        var diagnoses: [Diagnosis] = []
        for task in asked { diagnoses.append(await task.value) }
        #expect(looks == 1 && diagnoses.count == 20)
        #expect(diagnoses.allSatisfy { $0 == diagnoses[0] && $0.checked != nil })
    }

    @Test func soonAfterTheLastOneIsGivenAgain() async {
        let bench = DiagnosisRunner(now: { [clock] in clock.now })
        var looks = 0
        func ask() async -> Diagnosis { await bench.diagnosis { _ in looks += 1 } }
        let first = await ask()
        clock.pass(.milliseconds(9999))
        #expect(await ask() == first && looks == 1)
        clock.pass(.milliseconds(1))
        _ = await ask()
        #expect(looks == 2)
    }

    /// Also if a step cannot be cancelled.
    @Test func itEndsInTime() async {
        await ManualClock().run { clock in
            let bench = DiagnosisRunner()
            var never: CheckedContinuation<Void, Never>?
            let asking = Task {
                await bench.diagnosis { course in
                    course.facts.radio = .init(interface: "wlan0")
                    await withCheckedContinuation { never = $0 }
                }
            }
            await clock.untilTimer(of: DiagnosisRunner.limit)
            clock.advance(by: DiagnosisRunner.limit)
            let diagnosis = await asking.value
            #expect(diagnosis.steps.first?.result == .good)
            #expect(diagnosis.steps.dropFirst().allSatisfy { $0.result == .skipped })
            never?.resume()
        }
    }
}
