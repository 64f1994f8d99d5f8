import AgentModel
import FoundationEssentials
import Testing

@testable import Lab

@Suite struct PlanTests {
    private func plan(
        _ cases: [String] = [], stacks: [StackName] = [], runs: Int = 5, time: Run.Time = .virtual, done: [Run] = []
    ) -> BenchmarkPlan {
        BenchmarkPlan(cases: cases, stacks: stacks, runs: runs, time: time, done: done)
    }

    @Test func everythingIsRunWithEveryStack() {
        let jobs = plan().jobs
        #expect(jobs.map(\.caseName) == BenchmarkPlan.caseNames)
        #expect(jobs[0].wanted == [BenchmarkPlan.Wanted(stack: "floor", done: 0, count: 5)])
        #expect(
            jobs[1].wanted.map(\.stack) == [
                "altnet", "iwd", "wpa_supplicant", "systemd-networkd", "NetworkManager", "ConnMan",
            ])
    }

    @Test func aSecondStationIsPlayedWhereALivingLinkIsLeft() {
        let cases = plan(stacks: [.altnetSpare]).jobs.map(\.caseName)
        #expect(cases == ["floor", "weak-signal", "home-returns", "command"])
    }

    @Test func theBeginningOfANameWillDo() {
        #expect(plan(["hard-loss-2.4"]).jobs.map(\.caseName) == ["hard-loss-2.4-cn", "hard-loss-2.4-us"])
    }

    @Test func anHourOfWaitingIsNotForClockTime() {
        #expect(!plan(time: .clock).jobs.contains { $0.caseName == "idle" })
        #expect(plan().jobs.contains { $0.caseName == "idle" })
    }

    @Test func whatIsDoneIsNotRunAgain() {
        let done = [Run(caseName: "restart", stack: "iwd", time: .virtual)]
        let jobs = plan(["restart"], stacks: [.iwd, .connMan], runs: 1, done: done).jobs
        #expect(jobs.map(\.wanted) == [[BenchmarkPlan.Wanted(stack: "ConnMan", done: 0, count: 1)]])
        #expect(plan(["restart"], stacks: [.iwd], runs: 1, done: done).jobs.isEmpty)
        #expect(
            plan(["restart"], stacks: [.iwd], runs: 3, done: done).jobs.map(\.wanted)
                == [[BenchmarkPlan.Wanted(stack: "iwd", done: 1, count: 2)]])
    }

    @Test func aRunThatFailedOrWasInOtherTimeIsRunAgain() {
        let done = [
            Run(caseName: "restart", stack: "iwd", time: .virtual, failure: "it broke"),
            Run(caseName: "restart", stack: "iwd", time: .clock),
        ]
        #expect(plan(["restart"], stacks: [.iwd], runs: 1, done: done).jobs.map(\.runs) == [1])
    }

    @Test func ofAltnetOnlyTheBuildThatIsThereCounts() {
        let old = Run(caseName: "restart", stack: "altnet", time: .virtual).stamped(altnet: "1")
        let spare = Run(caseName: "command", stack: "altnet-spare", time: .virtual).stamped(altnet: "1")
        let peer = Run(caseName: "restart", stack: "iwd", time: .virtual).stamped(altnet: "1")
        #expect(peer.build == nil)
        #expect([old, spare, peer].current(altnet: "2") == [peer])
        #expect([old, peer].current(altnet: "1") == [old, peer])
        #expect([old, peer].current(altnet: nil) == [old, peer])
    }

    @Test func aRunIsALine() throws {
        let run = Run(
            caseName: "restart", stack: "iwd", time: .clock,
            readings: [FigureReading(.restart, .value(2.5)), FigureReading(.coldStart, .never(limit: .seconds(60)))])
        let line = try run.line
        #expect(!line.contains("\n"))
        #expect(Run.runs(in: "\(line)\n\(line)\n{\"case\":\"rest") == [run, run])
        let older = line.replacing("\"case\":", with: "\"trial\":")
        #expect(older != line && Run.runs(in: older) == [run])
    }

    @Test func whatIsWantedIsToldToTheMachine() {
        let wanted = BenchmarkPlan.Wanted(stack: "iwd", done: 2, count: 3)
        #expect(wanted.description == "iwd=2+3")
        #expect(BenchmarkPlan.Wanted("iwd=2+3") == wanted)
        for text in ["iwd", "iwd=", "iwd=2", "iwd=2+0", "iwd=-1+2", "=2+x", "a=b=1+1"] {
            #expect(BenchmarkPlan.Wanted(text) == nil, "\(text)")
        }
    }

    @Test func runsAreKeptUntilTheyAreForgotten() throws {
        let folder = "/tmp/altnet-bench-\(UInt64.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = RunStore(folder: folder)
        #expect(store.runs.isEmpty)
        let runs = ["iwd", "altnet", "iwd"].map { Run(caseName: "restart", stack: $0, time: .virtual) }
        for run in runs { try RunStore.append(run, in: store.folder(of: "restart", in: .virtual)) }
        #expect(store.runs == runs)
        for job in plan(["restart"], stacks: [.iwd]).jobs { try store.forget(job, in: .virtual) }
        #expect(store.runs == [runs[1]])
    }

    @Test func everyFigureOfACaseIsInTheTableOrHeldAgainstAGoal() {
        let measured = BenchmarkCase.all.flatMap(\.figures)
        #expect(Set(measured).count == measured.count)
        #expect(Set(Figure.compared).isSubset(of: measured))
    }
}

@Suite struct PhaseTests {
    @Test func anyNumberOfRunsIsSpreadOverTheSecond() {
        for count in [2, 3, 5, 8, 20] {
            let fractions = (0..<count).map { Phase(ofRun: $0).fraction }.sorted()
            #expect(fractions.allSatisfy { (0..<1).contains($0) })
            let gaps = zip(fractions, fractions.dropFirst() + [fractions[0] + 1]).map { $1 - $0 }
            #expect(gaps.allSatisfy { $0 > 0.4 / Double(count) && $0 < 2 / Double(count) }, "\(fractions)")
        }
    }

    @Test func theNextMomentIsWithinASecond() {
        let phase = Phase(ofRun: 0)
        #expect(phase == Phase(ofRun: 0))
        for moment in [Duration.zero, .milliseconds(49), .milliseconds(51), .milliseconds(12_345), .seconds(7)] {
            let distance = phase.distance(from: moment)
            #expect(distance >= .zero && distance <= .seconds(1))
            let reached = moment + distance
            let fraction = reached - .seconds(reached.components.seconds)
            #expect(abs(fraction / .seconds(1) - phase.fraction) < 1e-6, "\(moment)")
        }
    }
}

/// The configuration of each stack with the two networks.
@Suite struct ConfigurationTests {
    private let networks: [ConfiguredNetwork]

    init() throws {
        networks = [
            ConfiguredNetwork(try SSID("HomeNet"), security: .wpa2("home-password"), priority: 10),
            ConfiguredNetwork(try SSID("BackupNet"), security: .wpa2("backup-password"), priority: 0),
        ]
    }

    @Test func iwd() {
        #expect(IwdStack.networkFile(networks[0]) == "[Security]\nPassphrase=home-password\n")
        #expect(IwdStack.mainFile.contains("EnableNetworkConfiguration=true\n"))
    }

    @Test func networkManager() {
        let file = NetworkManagerStack.connectionFile(networks[0], number: 1)
        #expect(file.hasPrefix("[connection]\nid=HomeNet\nuuid=00000000-0000-4000-8000-000000000001\ntype=wifi\n"))
        #expect(file.contains("\nautoconnect-priority=10\n"))
        #expect(file.contains("\n[wifi]\nssid=HomeNet\n"))
        #expect(file.contains("\nkey-mgmt=wpa-psk\npsk=home-password\n"))
    }

    @Test func connMan() throws {
        #expect(
            ConnManStack.provisioningFile(networks) == """
                [service_1]
                Type=wifi
                Name=HomeNet
                Passphrase=home-password

                [service_2]
                Type=wifi
                Name=BackupNet
                Passphrase=backup-password


                """)
        let address = try #require(BSSID("02:00:00:00:00:00"))
        #expect(
            ConnManStack.service(networks[1].ssid, at: address)
                == "wifi_020000000000_4261636b75704e6574_managed_psk")
    }

    @Test func altnetIsAskedToValidateOnlyWhereThereIsAnInternet() {
        #expect(AltnetStack.settings(withInternet: false).isEmpty)
        #expect(AltnetStack.settings(withInternet: true)["ALTNET_VALIDATION_URL"] == Upstream.validationURL)
    }

    @Test func everyStackIsAHeading() {
        #expect(Set(StackName.allCases.map(\.title)).count == StackName.allCases.count)
    }
}
