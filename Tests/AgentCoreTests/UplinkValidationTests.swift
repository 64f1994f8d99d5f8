import AgentModel
import Failover
import Testing

@testable import AgentCore

@Suite struct UplinkValidationTests {
    private static let cable = UplinkCandidate(interface: "eth0", kind: .wired)
    private static let modem = UplinkCandidate(interface: "wwan0", kind: .cellular)

    @Test func theSourceDecides() {
        var bench = Bench(.internet)
        #expect(bench.handle(.follow([Self.cable])) == [.source, .gateway])
        bench.answer(.source, .source(.online, cost: 900))
        #expect(bench.verdicts == [Self.cable: .reachesLevel])
        #expect(bench.cancelled == 1, "the gateway does not matter any more")
    }

    @Test func withoutAServerTheGatewayDecides() {
        var bench = Bench(.lan, hasSource: false)
        #expect(bench.handle(.follow([Self.cable])) == [.gateway])
        bench.answer(.gateway, .gateway(true))
        #expect(bench.verdicts == [Self.cable: .reachesLevel])
        for _ in 0..<UplinkJudgement.strikes {
            bench.wait()
            bench.answer(.gateway, .gateway(false))
        }
        #expect(bench.verdicts == [Self.cable: .failed(.gatewaySilent)])
    }

    @Test func aTargetThatAnswersSavesTheOtherQuestions() {
        var bench = Bench(.target, targets: ["broker"])
        #expect(bench.handle(.follow([Self.cable])) == [.target("broker")])
        #expect(bench.opened == [Self.cable])
        bench.answer(.target("broker"), .target(.answers(.certified)))
        #expect(bench.verdicts == [Self.cable: .reachesLevel])
    }

    @Test func aCaptiveCableFails() {
        var bench = Bench(.internet)
        bench.handle(.follow([Self.cable]))
        bench.answer(.source, .source(.captive(portal: nil), cost: 900))
        bench.answer(.gateway, .gateway(true))
        bench.wait()
        bench.answer(.source, .source(.captive(portal: nil), cost: 900))
        bench.answer(.gateway, .gateway(true))
        #expect(bench.verdicts == [Self.cable: .failed(.captive)])
    }

    /// A cable whose router loses its upstream, at the worst moment.
    @Test func aLostUpstreamIsFoundWithinTenSeconds() {
        var bench = Bench(.internet)
        bench.handle(.follow([Self.cable]))
        bench.answer(.source, .source(.online, cost: 900))
        let lost = bench.now
        while bench.verdicts == [Self.cable: .reachesLevel], bench.now - lost < .seconds(60) { bench.wait() }
        #expect(bench.verdicts == [Self.cable: .failed(.gatewaySilent)])
        #expect(bench.now - lost <= .seconds(10))
    }

    @Test func aLostConnectionIsCheckedAtOnce() throws {
        var bench = Bench(.target, targets: ["broker"])
        bench.handle(.follow([Self.cable]))
        bench.answer(.target("broker"), .target(.answers(.near)))
        bench.answer(.source, .source(.online, cost: 900))
        bench.answer(.gateway, .gateway(true))
        try #require(bench.verdicts == [Self.cable: .reachesLevel])
        let next = try #require(bench.validation.nextWake)
        bench.handle(.targetDoubted(Self.cable))
        let sooner = try #require(bench.validation.nextWake)
        #expect(sooner < next && sooner <= bench.now + UplinkJudgement.recheck)
        let lost = bench.now
        while bench.verdicts == [Self.cable: .reachesLevel], bench.now - lost < .seconds(60) { bench.wait() }
        #expect(bench.now - lost <= .seconds(4), "and one failed check is enough")
    }

    @Test func theBudgetKeepsTheVerdict() {
        var limits = QuestionBudget.Limits()
        limits.questionsPerHour = 1
        var bench = Bench(.internet, budget: limits)
        bench.handle(.follow([Self.cable]))
        bench.answer(.source, .source(.online, cost: 900))
        bench.wait()
        #expect(bench.asked(.source) == nil)
        bench.answer(.gateway, .gateway(true))
        #expect(bench.verdicts == [Self.cable: .reachesLevel])
        #expect(bench.validation.nextWake.map { $0 - bench.now > .seconds(60) } == true)
    }

    @Test func whatIsNotFollowedIsForgotten() {
        var bench = Bench(.internet)
        bench.handle(.follow([Self.cable, Self.modem]))
        #expect(Set(bench.opened) == [Self.cable, Self.modem])
        bench.handle(.follow([]))
        #expect(bench.closed == [Self.cable, Self.modem] && bench.verdicts.isEmpty && bench.validation.nextWake == nil)
    }

    /// If the link is enough, carrier and address are all that a cable needs.
    @Test func withoutALevelNothingIsAsked() {
        var bench = Bench(.link)
        #expect(bench.handle(.follow([Self.cable, Self.modem])).isEmpty)
        #expect(bench.verdicts == [Self.cable: .reachesLevel, Self.modem: .reachesLevel])
        #expect(bench.validation.nextWake == nil)
        #expect(bench.handle(.retargeted(required: .internet, targets: [])).contains(.source))
        #expect(bench.verdicts.isEmpty)
        bench.handle(.retargeted(required: .link, targets: []))
        #expect(bench.verdicts == [Self.cable: .reachesLevel, Self.modem: .reachesLevel] && bench.questionCount == 0)
    }

    @Test func aModemKeepsNoConnectionBetweenChecks() {
        var bench = Bench(.target, targets: ["broker"])
        #expect(bench.handle(.follow([Self.modem])) == [.target("broker")])
        #expect(bench.opened == [Self.modem] && bench.closed.isEmpty)
        bench.answer(.target("broker"), .target(.answers(.certified)))
        #expect(bench.verdicts == [Self.modem: .reachesLevel] && bench.closed == [Self.modem])
        bench.wait()
        #expect(bench.opened == [Self.modem, Self.modem] && bench.asked(.target("broker")) != nil)
    }

    /// A flapping plug: the failure before it still counts.
    @Test func aFailureBeforeAReplugCounts() {
        var bench = Bench(.lan, hasSource: false)
        bench.handle(.follow([Self.cable]))
        for _ in 0..<UplinkJudgement.strikes {
            bench.answer(.gateway, .gateway(false))
            bench.wait()
        }
        let failed: [UplinkCandidate: UplinkVerdict] = [Self.cable: .failed(.gatewaySilent)]
        #expect(bench.verdicts == failed)
        bench.handle(.follow([]))
        #expect(bench.verdicts.isEmpty)
        bench.handle(.follow([Self.cable]))
        #expect(bench.verdicts == failed)
        bench.answer(.gateway, .gateway(true))
        let recovering: [UplinkCandidate: UplinkVerdict] = [Self.cable: .recovering]
        #expect(bench.verdicts == recovering, "it has to prove itself")
        let replug = bench.now
        while bench.verdicts == recovering, bench.now - replug < .seconds(60) {
            bench.wait()
            bench.answer(.gateway, .gateway(true))
        }
        #expect(bench.now - replug == UplinkJudgement.firstRecovery && bench.verdicts == [Self.cable: .reachesLevel])
        // A time without checks is no loss of the link: the cable only has to be checked.
        bench.handle(.follow([]))
        bench.handle(.follow([Self.cable]))
        #expect(bench.verdicts.isEmpty)
        bench.answer(.gateway, .gateway(true))
        #expect(bench.verdicts == [Self.cable: .reachesLevel])
    }

    @Test func aFailureExpiresWhileTheCableIsUnplugged() {
        var bench = Bench(.lan, hasSource: false)
        bench.handle(.follow([Self.cable]))
        for _ in 0..<UplinkJudgement.strikes {
            bench.answer(.gateway, .gateway(false))
            bench.wait()
        }
        bench.handle(.follow([]))
        bench.now = bench.now + UplinkJudgement.relapseTime
        bench.handle(.follow([Self.cable]))
        bench.answer(.gateway, .gateway(true))
        #expect(bench.verdicts == [Self.cable: .reachesLevel])
    }

    /// The cable's checks succeed, but its carrier comes and goes.
    // covers: rule/uplink-trusted-later
    @Test func aFlappingCableReturnsLaterEachTime() {
        var bench = Bench(.lan, hasSource: false)
        var stays: [Duration] = []
        for _ in 0..<3 {
            bench.handle(.follow([Self.cable]))
            let back = bench.now
            bench.answer(.gateway, .gateway(true))
            while bench.verdicts != [Self.cable: .reachesLevel], bench.now - back < .seconds(60) {
                bench.wait()
                bench.answer(.gateway, .gateway(true))
            }
            stays.append(bench.now - back)
            bench.handle(.follow([], lost: [Self.cable]))
            bench.now = bench.now + .seconds(2)
        }
        #expect(stays == [.zero, .zero, .seconds(20)])
    }

    @Test func theNumberOfUplinksIsLimited() {
        var bench = Bench(.internet)
        bench.handle(.follow((0..<20).map { UplinkCandidate(interface: "eth\($0)", kind: .wired) }))
        #expect(bench.opened.count == UplinkValidation.maximumUplinks)
    }

    @Test func otherTargetsAreCheckedAtOnce() {
        var bench = Bench(.internet)
        bench.handle(.follow([Self.cable]))
        bench.answer(.source, .source(.online, cost: 900))
        #expect(bench.handle(.retargeted(required: .target, targets: ["other"])) == [.target("other")])
        #expect(bench.opened == [Self.cable, Self.cable])
    }

    private struct Bench {
        var validation: UplinkValidation
        var now = Instant(milliseconds: 1_000_000)
        var verdicts: [UplinkCandidate: UplinkVerdict] = [:]
        var opened: [UplinkCandidate] = []
        var closed: [UplinkCandidate] = []
        var cancelled = 0
        private var questions: [(id: ReachQuestionID, question: ReachQuestion)] = []

        init(
            _ required: ReachLevel, targets: [String] = [], hasSource: Bool = true,
            budget: QuestionBudget.Limits = QuestionBudget.Limits()
        ) {
            validation = UplinkValidation(required: required, targets: targets, hasSource: hasSource, budget: budget)
        }

        /// - Returns: the questions that are asked.
        @discardableResult
        mutating func handle(_ event: UplinkValidationEvent) -> [ReachQuestion] {
            var asked: [ReachQuestion] = []
            for effect in validation.handle(event, at: now) {
                switch effect {
                case .open(let uplink): opened.append(uplink)
                case .close(let uplink): closed.append(uplink)
                case .ask(let id, let question, _, _):
                    questions.append((id, question))
                    asked.append(question)
                case .cancel(let ids):
                    cancelled += ids.count
                    questions.removeAll { ids.contains($0.id) }
                case .judged(let new): verdicts = new
                }
            }
            return asked
        }

        var questionCount: Int { questions.count }

        func asked(_ question: ReachQuestion) -> ReachQuestionID? { questions.first { $0.question == question }?.id }

        mutating func answer(_ question: ReachQuestion, _ answer: UplinkAnswer) {
            guard let id = asked(question) else { return }
            questions.removeAll { $0.id == id }
            handle(.answer(id, answer))
        }

        /// Waits for the next timer.
        mutating func wait() {
            guard let next = validation.nextWake else { return }
            now = max(now, next)
            handle(.timer)
        }
    }
}
