import AgentModel
import AppClient
import AppProtocol
import Foundation
import TestTime
import Testing

/// The sample for apps, which Docs/reference/app-screen.md shows, against a device.
// covers: seed/user-app-developer
@MainActor @Suite(.timeLimit(.minutes(10))) struct SampleTests {
    @Test func aDeviceThatCannotDoItIsSaidSo() async throws {
        try await Fixture.with { fixture async throws in
            fixture.board.set {
                $0.capabilities = Capabilities(
                    attributes: [], maxBackupNetworks: 0, deviceId: "board-1", firmware: "1", features: [])
            }
            let screen = BackupNetworksScreen(fixture.manager())
            await screen.load()
            #expect(screen.support == "not supported")
            #expect(screen.currentRows.isEmpty && screen.backupRows.isEmpty && screen.alert == nil)
        }
    }

    @Test func fromTheFirstLookToTheSwitch() async throws {
        let ssid = try SSID("Home")
        try await Fixture.with { fixture async throws in
            fixture.board.set { $0.network.ssid = ssid }
            let screen = BackupNetworksScreen(fixture.manager())
            await screen.load()
            #expect(screen.support == "supported")
            #expect(
                screen.currentRows.map(\.title) == [
                    "ssid", "signal", "type", "canUpdateWifiBackupNetwork", "canSwitchWifiNetwork",
                ])
            #expect(screen.currentRows.map(\.value) == ["Home", "-50 dBm", "wifi", "true", "true"])
            #expect(screen.backupRows == ["add new backup network"])

            for ssid in ["Attic", "Cellar", "Garden"] { await screen.add(ssid: ssid, pwd: "correct horse") }
            #expect(screen.alert == nil)
            #expect(screen.backupRows == ["Attic", "Cellar", "Garden", "add new backup network"])
            await screen.add(ssid: "Shed", pwd: "correct horse")
            #expect(screen.alert == "can't add any more")
            #expect(fixture.board.list.map(\.ssid.description) == ["Attic", "Cellar", "Garden"])
            await screen.add(ssid: "Shed", pwd: "short")
            #expect(screen.alert == "can't add any more")

            await screen.remove(try #require(screen.stored?.networks[1]))
            #expect(screen.backupRows == ["Attic", "Garden", "add new backup network"])
            await screen.add(ssid: "Shed", pwd: "short")
            #expect(screen.alert?.contains("8 to 63") == true)

            // Another phone of the household was quicker.
            fixture.board.set { $0.revision += 1 }
            await screen.remove(try #require(screen.stored?.networks[0]))
            #expect(screen.alert != nil)
            #expect(screen.stored?.revision == 6)

            let attic = try #require(screen.stored?.networks.first)
            async let switching: Void = screen.switchTo(attic)
            try await fixture.board.isAsked(.getSwitch)
            await fixture.relay.cut()
            fixture.board.advance(to: .joining)
            fixture.board.set { $0.network.ssid = attic.ssid }
            fixture.board.advance(to: .committed)
            await switching
            #expect(screen.alert == nil && screen.progress == nil)
            #expect(screen.currentRows.first?.value == "Attic")

            fixture.board.set { $0.network.flags = .canUpdateBackups }
            await screen.load()
            await screen.switchTo(attic)
            #expect(screen.alert == "can't switch")
            #expect(fixture.board.count(.switchNetwork) == 1)
        }
    }

    @Test func aPasswordIsChangedAtTheRouter() async throws {
        try await Fixture.with { fixture async throws in
            let screen = BackupNetworksScreen(fixture.manager())
            await screen.load()
            await screen.add(ssid: "Attic", pwd: "correct horse")
            let attic = try #require(screen.stored?.networks.first)
            await screen.stage("newer password", of: attic, as: "2026-12")
            #expect(screen.alert != nil && screen.passwordRow(of: attic) == nil)
            fixture.board.set {
                $0.capabilities = Capabilities(
                    maxBackupNetworks: 3, deviceId: "board-1", firmware: "1", features: ["stage"])
            }
            await screen.stage("newer password", of: attic, as: "2026-12")
            #expect(screen.alert == nil)
            #expect(screen.passwordRow(of: attic) == "a newer password waits for the router's change")
            await screen.keepPassword(of: attic)
            #expect(screen.alert == nil && screen.passwordRow(of: attic) == nil)
            #expect(fixture.board.count(.dropPassword) == 1)
            await screen.stage("newer password", of: attic, as: "2027-01")
            let following = Task { await screen.follow() }
            fixture.board.publish("2027-01", of: attic.ssid, .committed)
            await screen.load()
            #expect(screen.passwordRow(of: attic) == "the newer password is in use")
            following.cancel()
            await following.value
        }
    }

    /// A refresh afterwards keeps the reason until the person does something.
    @Test func aSwitchThatWasRolledBackIsAnAlert() async throws {
        try await Fixture.with { fixture async throws in
            let screen = BackupNetworksScreen(fixture.manager())
            await screen.load()
            await screen.add(ssid: "Attic", pwd: "correct horse")
            let following = Task { await screen.follow() }
            let attic = try #require(screen.stored?.networks.first)
            async let switching: Void = screen.switchTo(attic)
            try await fixture.board.isAsked(.getSwitch)
            fixture.board.advance(to: .rolledBack, reason: ReasonCode(.wrongKey))
            await switching
            let alert = try #require(screen.alert)
            #expect(alert.contains(JoinFailure.wrongKey.rawValue))

            try await eventually("a change is shown") {
                fixture.board.set { $0.network.signal = -70 }
                fixture.board.hub.publish(.networkChanged(fixture.board.network))
                return screen.info?.signal == -70
            }
            #expect(screen.alert == alert)
            await screen.load()
            #expect(screen.alert == nil)
            following.cancel()
            await following.value
        }
    }

    @Test func whatChangesIsShown() async throws {
        try await Fixture.with { fixture async throws in
            let screen = BackupNetworksScreen(fixture.manager())
            let following = Task { await screen.follow() }
            try await eventually("it is shown") {
                fixture.board.hub.publish(.backupsChanged(BackupList(max: 3, revision: 1, networks: [])))
                return screen.support == "supported"
            }
            following.cancel()
            await following.value
            #expect(screen.alert == nil)
        }
    }

    @Test func theDocumentShowsThisVeryCode() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let sample = try String(
            contentsOf: root.appending(path: "Tests/AppClientTests/Sample/BackupNetworksScreen.swift"), encoding: .utf8)
        let document = try String(contentsOf: root.appending(path: "Docs/reference/app-screen.md"), encoding: .utf8)
        #expect(document.contains("```swift\n\(sample)```\n"))
    }
}
