import AgentModel
import AppClient
import AppProtocol
import TestTime
import Testing

/// Connections that end, or go silent, in use.
@Suite(.timeLimit(.minutes(10))) struct ReconnectionTests {
    @Test func howeverManyAskOneConnectionIsMade() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            try await withThrowingTaskGroup { group in
                for _ in 1...20 { group.addTask { _ = try await manager.getBackupWifiNetworks() } }
                try await group.waitForAll()
            }
            #expect(fixture.relay.accepted == 1)
            #expect(fixture.board.count(.getBackups) == 20)
        }
    }

    @Test func whatHasEndedIsMadeAnew() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            for round in 1...3 {
                _ = try await manager.getBackupWifiNetworks()
                #expect(fixture.relay.accepted == round)
                await fixture.relay.cut()
                try await eventually("it is noticed") { await !manager.session.isConnected }
            }
        }
    }

    @Test func aQuestionWhoseAnswerIsLostIsAskedOnceMore() async throws {
        let gate = Gate()
        let board = Board(Fixture.device) { request in if request == .getBackups { await gate.pass() } }
        try await Fixture.with(board) { fixture async throws in
            let manager = fixture.manager()
            async let networks = manager.getBackupWifiNetworks()
            try await gate.isReached()
            await fixture.relay.cut()
            try await fixture.board.isAsked(.getBackups, times: 2)
            gate.open()
            #expect(try await networks.max == 3)
            #expect(fixture.board.count(.getBackups) == 2)
        }
    }

    /// Nothing says that the device has gone; only that it says nothing.
    @Test func aSilentConnectionIsGivenUp() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager(.impatient)
            _ = try await manager.getBackupWifiNetworks()
            fixture.relay.freeze()
            _ = try await manager.getBackupWifiNetworks()
            #expect(fixture.relay.accepted == 2)
            #expect(fixture.board.count(.getBackups) == 2)
        }
    }

    @Test func aDeviceThatComesBackInTimeIsWaitedFor() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            fixture.relay.refuse(true)
            async let networks = manager.getBackupWifiNetworks()
            try await fixture.relay.hasAccepted(3)
            fixture.relay.refuse(false)
            #expect(try await networks.max == 3)
        }
    }

    @Test func theReasonIsToldWhenTheTimeIsOver() async throws {
        try await Fixture.with { fixture async throws in
            fixture.relay.refuse(true)
            var settings = DeviceSession.Settings.quick
            settings.timeout = .milliseconds(100)
            let manager = fixture.manager(settings)
            let error = await #expect(throws: ClientError.self) { try await manager.getBackupWifiNetworks() }
            #expect(error == .turnedAway(fixture.endpoint))
            let nowhere = DeviceNetworkManager(device: Fixture.device, settings: settings) { [] }
            await #expect(throws: ClientError.notFound) { try await nowhere.getBackupWifiNetworks() }
        }
    }

    /// It would not help, and every attempt makes the device slower to answer the next one.
    @Test func anotherKeyIsTriedOnce() async throws {
        try await Fixture.with { fixture async throws in
            let other = try DeviceKey(deviceId: "board-1", localKey: Secret(text: "another key, 16+"))
            let manager = DeviceNetworkManager(device: other, host: "127.0.0.1", port: fixture.relay.port)
            let endpoint = Endpoint.network(host: "127.0.0.1", port: fixture.relay.port, device: other)
            await #expect(throws: ClientError.keyRefused(endpoint)) { try await manager.getBackupWifiNetworks() }
            #expect(fixture.relay.accepted == 1)
        }
    }

    /// Of several places where the device may be, the one where it is is found, and nothing is left of the others.
    @Test func everyPlaceIsTried() async throws {
        try await Fixture.with { fixture async throws in
            let elsewhere = try await Relay(to: fixture.relay.port)
            elsewhere.refuse(true)
            let places = [
                Endpoint.network(host: "127.0.0.1", port: 1, device: Fixture.device),
                .network(host: "127.0.0.1", port: elsewhere.port, device: Fixture.device), fixture.endpoint,
            ]
            let manager = DeviceNetworkManager(device: Fixture.device, settings: .quick) { places }
            #expect(try await manager.getBackupWifiNetworks().max == 3)
            await elsewhere.stop()
        }
    }

    @Test func waitingForADeviceCanBeCancelled() async throws {
        try await Fixture.with { fixture async throws in
            fixture.relay.refuse(true)
            var settings = DeviceSession.Settings.quick
            settings.timeout = .seconds(600)
            let manager = fixture.manager(settings)
            let asking = Task { try await manager.getBackupWifiNetworks() }
            try await fixture.relay.hasAccepted(2)
            asking.cancel()
            await #expect(throws: ClientError.cancelled) { try await asking.value }
        }
    }

    @Test func afterTheEndThereIsNothing() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            var events = try await manager.events().makeAsyncIterator()
            await manager.close()
            #expect(try await events.next() == nil)
            await #expect(throws: ClientError.cancelled) { try await manager.getBackupWifiNetworks() }
            await #expect(throws: ClientError.cancelled) { try await manager.events() }
            try await fixture.relay.isEmpty()
            #expect(fixture.relay.accepted == 1)
        }
    }

    /// `Fixture.with` sees to it that no connection is left.
    @Test func aForgottenDeviceLeavesNothingBehind() async throws {
        try await Fixture.with { fixture async throws in
            weak var session: DeviceSession?
            do {
                let manager = fixture.manager()
                session = manager.session
                _ = try await manager.getBackupWifiNetworks()
                for try await _ in try await manager.events().prefix(0) {}
            }
            try await eventually("the session has gone") { session == nil }
        }
    }

    @Test func aListThatIsSentTwiceIsStoredOnce() async throws {
        let gate = Gate()
        let board = Board(Fixture.device) { request in if request.type == .updateBackups { await gate.pass() } }
        try await Fixture.with(board) { fixture async throws in
            let manager = fixture.manager()
            let revision = try await manager.getBackupWifiNetworks().revision
            let model = try manager.generateBackupWifiModel(ssid: "Home", pwd: "correct horse")
            async let update = manager.updateBackupWifiNetworks([model], ifRevision: revision)
            try await gate.isReached()
            await fixture.relay.cut()
            gate.open()
            let stored = try await update
            #expect(stored.networks == [model])
            #expect(stored.revision == revision + 1)
            #expect(fixture.board.count(.updateBackups) == 2)
        }
    }

    /// The first one did not arrive, and another client came before the second one.
    @Test func aListThatAnotherAppChangedMeanwhileIsAConflict() async throws {
        let gate = Gate()
        let board = Board(Fixture.device) { request in if request.type == .agreeKey { await gate.pass() } }
        try await Fixture.with(board) { fixture async throws in
            let manager = fixture.manager()
            let model = try manager.generateBackupWifiModel(ssid: "Home", pwd: "correct horse")
            async let update = manager.updateBackupWifiNetworks([model], ifRevision: 1)
            try await gate.isReached()
            fixture.board.set { $0.revision = 2 }
            await fixture.relay.cut()
            gate.open()
            do {
                _ = try await update
                Issue.record("the other client's change is lost")
            } catch {
                #expect((error as? ClientError)?.code == .revisionConflict)
            }
            #expect(fixture.board.list.isEmpty)
        }
    }
}
