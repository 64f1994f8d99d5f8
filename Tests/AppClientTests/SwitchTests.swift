import AgentModel
import AppClient
import AppProtocol
import AppServer
import PipedPrograms
import Synchronization
import TestTime
import Testing

/// Switches, over whose way the connection breaks.
@Suite(.timeLimit(.minutes(10))) struct SwitchTests {
    private let attic: SSID
    private let hash: NetworkHash

    init() throws {
        attic = try SSID("Attic")
        hash = NetworkHash(localKey: Fixture.device.localKey, ssid: attic, password: nil)
    }

    @Test func eachPhaseIsToldOnceAndInOrder() async throws {
        try await Fixture.with { fixture async throws in
            let phases = Observed<[SwitchPhase]>([])
            let manager = fixture.manager()
            async let switched = manager.switchBackupWifiNetwork(hash: hash) { status in
                phases.change { $0.append(status.phase) }
            }
            try await isCommanded(fixture.board)
            for phase in [SwitchPhase.joining, .waitingForAddress, .validating] {
                fixture.board.advance(to: phase)
                try await phases.wait("\(phase)") { $0.last == phase }
            }
            fixture.board.advance(to: .committed)
            #expect(try await switched.phase == .committed)
            #expect(
                phases.value == [.accepted, .joining, .waitingForAddress, .validating, .committed])
            #expect(fixture.board.asked.contains(.switchNetwork(SwitchRequest(target: .stored(hash)))))
        }
    }

    @Test(arguments: [SwitchPhase.rolledBack, .failed])
    func aSwitchThatDidNotSucceedIsAnError(phase: SwitchPhase) async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            async let switched = manager.switchBackupWifiNetwork(hash: hash)
            try await isCommanded(fixture.board)
            fixture.board.advance(to: phase, reason: ReasonCode(.wrongKey))
            let status = SwitchStatus(switchId: "s-1", phase: phase, reason: ReasonCode(.wrongKey))
            do {
                _ = try await switched
                Issue.record("it did not succeed")
            } catch {
                #expect(error as? ClientError == .notSwitched(status))
                #expect("\(error)".contains(JoinFailure.wrongKey.rawValue))
            }
        }
    }

    enum Loss: CaseIterable { case broken, silent }

    /// The device leaves the network that it was commanded over, and is found again in the new one.
    @Test(arguments: Loss.allCases)
    func theOutcomeIsAskedForInTheNewNetwork(loss: Loss) async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager(.impatient)
            async let switched = manager.switchBackupWifiNetwork(hash: hash)
            try await isCommanded(fixture.board)
            fixture.relay.refuse(true)
            switch loss {
            case .broken: await fixture.relay.cut()
            case .silent: fixture.relay.freeze()
            }
            fixture.board.advance(to: .joining)
            fixture.board.advance(to: .committed)
            try await fixture.relay.hasAccepted(3)
            fixture.relay.refuse(false)
            #expect(try await switched.phase == .committed)
            #expect(fixture.board.count(.switchNetwork) == 1)
        }
    }

    /// In the new network it has another address, and another device has the old one.
    @Test(.enabled(if: PipedProgram.path(of: "openssl") != nil, "openssl is not installed"))
    func theDeviceIsFoundAtItsNewAddress() async throws {
        try await Fixture.with { fixture async throws in
            let stranger = try await OpenSSLServer([], .random())
            var device = Fixture.device
            device.certificate = AppCredentials.certificate.fingerprint
            let old = try await Relay(to: fixture.relay.port)
            let port = Mutex(old.port)
            let manager = DeviceNetworkManager(device: device, settings: .quick) { [device] in
                [.network(host: "127.0.0.1", port: port.withLock { $0 }, device: device)]
            }
            async let switched = manager.switchBackupWifiNetwork(hash: hash)
            try await isCommanded(fixture.board)
            old.lead(to: stranger.port)
            await old.cut()
            fixture.board.advance(to: .committed)
            try await old.hasAccepted(3)
            port.withLock { $0 = fixture.relay.port }
            #expect(try await switched.phase == .committed)
            await old.stop()
        }
    }

    @Test func itIsConfirmedOverTheNewNetwork() async throws {
        try await Fixture.with { fixture async throws in
            let phases = Observed<[SwitchPhase]>([])
            let manager = fixture.manager()
            async let switched = manager.switchBackupWifiNetwork(
                ssid: attic, pwd: Secret(text: "correct horse"), hidden: true, joinOnce: true, confirmWithin: 60
            ) { status in phases.change { $0.append(status.phase) } }
            try await isCommanded(fixture.board)
            await fixture.relay.cut()
            fixture.board.advance(to: .joining)
            fixture.board.advance(to: .waitingForConfirmation)
            #expect(try await switched.phase == .committed)
            #expect(fixture.board.count(.confirmSwitch) == 1)
            #expect(phases.value.suffix(2) == [.waitingForConfirmation, .committed])
            for case .switchNetwork(let request) in fixture.board.asked {
                #expect(request.joinOnce)
                #expect(request.confirmWithin == 60)
                guard case .new(let network) = request.target, case .sealed = network.credential else {
                    Issue.record("\(request)")
                    return
                }
                #expect(network.isHidden)
            }
        }
    }

    @Test func aConfirmationByAnotherAppIsWaitedFor() async throws {
        try await Fixture.with { fixture async throws in
            let session = DeviceSession(fixture.endpoint, settings: .quick)
            async let switched = session.switchNetwork(to: .stored(hash), confirmWithin: 60, confirms: false)
            try await isCommanded(fixture.board)
            fixture.board.advance(to: .waitingForConfirmation)
            try await fixture.board.isAsked(.getSwitch, times: 2)
            fixture.board.advance(to: .rolledBack)
            #expect(try await switched.phase == .rolledBack)
            #expect(fixture.board.count(.confirmSwitch) == 0)
        }
    }

    // MARK: The answer is lost

    /// The command is there and its answer is not: it is not sent again, and its switch is found.
    @Test func aCommandWhoseAnswerIsLostIsNotSentAgain() async throws {
        let gate = Gate()
        let board = Board(Fixture.device) { request in if request.type == .switchNetwork { await gate.pass() } }
        try await Fixture.with(board) { fixture async throws in
            let manager = fixture.manager()
            async let switched = manager.switchBackupWifiNetwork(hash: hash)
            try await gate.isReached()
            fixture.relay.refuse(true)
            await fixture.relay.cut()
            gate.open()
            board.advance(to: .joining)
            board.advance(to: .committed)
            board.set { $0.network.hash = hash }
            fixture.relay.refuse(false)
            #expect(try await switched.phase == .committed)
            #expect(board.count(.switchNetwork) == 1)
        }
    }

    /// Another client has switched the device at the same moment: that outcome is not taken for one's own.
    @Test func theSwitchOfAnotherAppIsNotTakenForOnesOwn() async throws {
        let gate = Gate()
        let board = Board(Fixture.device) { request in if request.type == .switchNetwork { await gate.pass() } }
        try await Fixture.with(board) { fixture async throws in
            let manager = fixture.manager()
            async let switched = manager.switchBackupWifiNetwork(hash: hash)
            try await gate.isReached()
            fixture.relay.refuse(true)
            await fixture.relay.cut()
            board.advance("s-9", to: .joining)
            board.advance("s-9", to: .committed)
            fixture.relay.refuse(false)
            do {
                _ = try await switched
                Issue.record("it is on another network")
            } catch {
                #expect(error as? ClientError == .outcomeUnknown(switchId: "s-9"))
            }
            gate.open()
        }
    }

    @Test func aCommandThatDidNotArriveIsSaidNotToHave() async throws {
        let gate = Gate()
        let board = Board(Fixture.device) { request in if request.type == .switchNetwork { await gate.pass() } }
        try await Fixture.with(board) { fixture async throws in
            let manager = fixture.manager()
            async let switched = manager.switchBackupWifiNetwork(hash: hash)
            try await gate.isReached()
            // A switch that had begun before is not this one.
            board.advance("s-0", to: .committed)
            await fixture.relay.cut()
            do {
                _ = try await switched
                Issue.record("nothing has begun")
            } catch {
                #expect(error as? ClientError == .disconnected)
            }
            gate.open()
        }
    }

    /// The connection stands, the command is there, and that is all: no answer, and no switch.
    @Test func aCommandThatIsNotAnsweredAndBeginsNothing() async throws {
        let gate = Gate()
        let board = Board(Fixture.device) { request in if request.type == .switchNetwork { await gate.pass() } }
        try await Fixture.with(board) { fixture async throws in
            var settings = DeviceSession.Settings.quick
            settings.timeout = .seconds(3)
            let session = DeviceSession(fixture.endpoint, settings: settings)
            await #expect(throws: ClientError.disconnected) { try await session.switchNetwork(to: .stored(hash)) }
            #expect(board.count(.switchNetwork) == 1)
            gate.open()
        }
    }

    /// A switch that was never commanded does not look like one that goes on.
    @Test func aDeviceThatDoesNotAnswerAtAllIsNotCommanded() async throws {
        try await ScriptedDevice.with({ _, _ in [] }) { device async throws in
            var settings = DeviceSession.Settings.quick
            settings.timeout = .milliseconds(100)
            let session = DeviceSession(device.endpoint, settings: settings)
            await #expect(throws: ClientError.disconnected) { try await session.switchNetwork(to: .stored(hash)) }
            #expect(!device.asked.contains("network.switch"))
            await session.close()
        }
    }

    @Test(arguments: [false, true])
    func theTimeIsOverBeforeItHasBegun(isSent: Bool) async throws {
        let script: ScriptedDevice.Script = { type, id in
            isSent && type == "events.subscribe" ? [ScriptedDevice.answer(id, #"{"seq":4,"stream":"x"}"#)] : []
        }
        try await ScriptedDevice.with(script) { device async throws in
            let clock = GatedClock()
            let session = DeviceSession(device.endpoint, settings: .moved(by: clock))
            async let switched = session.switchNetwork(to: .stored(hash))
            try await device.isAsked(isSent ? "network.switch" : "events.subscribe")
            try await clock.gate.isReached()
            clock.gate.open()
            do {
                _ = try await switched
                Issue.record("there is no outcome")
            } catch {
                #expect(error as? ClientError == (isSent ? .outcomeUnknown(switchId: nil) : .disconnected))
            }
            await session.close()
        }
    }

    // MARK: The device is lost

    @Test func aDeviceThatHasForgottenTheSwitch() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            async let switched = manager.switchBackupWifiNetwork(hash: hash)
            try await isCommanded(fixture.board)
            fixture.board.set { $0.switches = [:] }
            do {
                _ = try await switched
                Issue.record("the outcome is unknown")
            } catch {
                #expect(error as? ClientError == .outcomeUnknown(switchId: "s-1"))
            }
        }
    }

    @Test func aDeviceThatDoesNotComeBack() async throws {
        try await Fixture.with { fixture async throws in
            let (clock, begun) = (GatedClock(), Gate())
            let session = DeviceSession(fixture.endpoint, settings: .moved(by: clock))
            async let switched = session.switchNetwork(to: .stored(hash)) { _ in Task { begun.open() } }
            await begun.pass()
            fixture.relay.refuse(true)
            await fixture.relay.cut()
            try await eventually("it is noticed") { await !session.isConnected }
            clock.gate.open()
            do {
                _ = try await switched
                Issue.record("the outcome is unknown")
            } catch {
                #expect(error as? ClientError == .outcomeUnknown(switchId: "s-1"))
            }
        }
    }

    @Test func aSwitchThatTakesTooLong() async throws {
        try await Fixture.with { fixture async throws in
            let clock = GatedClock()
            let session = DeviceSession(fixture.endpoint, settings: .moved(by: clock))
            await #expect(throws: ClientError.timedOut) {
                try await session.switchNetwork(to: .stored(hash)) { _ in Task { clock.gate.open() } }
            }
        }
    }

    @Test(arguments: [ErrorCode.alreadyAssociated, .cannotSwitch, .unknownNetwork, .switchInProgress])
    func aRefusalIsTheDevicesOwn(code: ErrorCode) async throws {
        try await Fixture.with { fixture async throws in
            fixture.board.set { $0.refusals = [.switchNetwork: [code]] }
            let manager = fixture.manager()
            let error = await #expect(throws: ClientError.self) {
                try await manager.switchBackupWifiNetwork(hash: hash)
            }
            #expect(error?.code == code)
            #expect(fixture.board.count(.switchNetwork) == 1)
        }
    }

    @Test func waitingCanBeCancelled() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            let switching = Task { try await manager.switchBackupWifiNetwork(hash: hash) }
            try await isCommanded(fixture.board)
            switching.cancel()
            await #expect(throws: ClientError.cancelled) { try await switching.value }
            // The device goes on with it.
            #expect(try await manager.getBackupWifiNetworks().max == 3)
        }
    }

    /// As the command line does it: with a client of one connection, which ends on the way.
    @Test func aClientOutlivesItsConnectionToo() async throws {
        try await Fixture.with { fixture async throws in
            let client = try await DeviceClient(connectingTo: fixture.endpoint, timeout: .seconds(60))
            async let switched = client.switchNetwork(to: .stored(hash), within: .seconds(60))
            try await isCommanded(fixture.board)
            await fixture.relay.cut()
            fixture.board.advance(to: .committed)
            #expect(try await switched.phase == .committed)
            #expect(fixture.relay.accepted == 2)
        }
    }

    private func isCommanded(_ board: Board) async throws {
        try await board.isAsked(.getSwitch)
    }
}
