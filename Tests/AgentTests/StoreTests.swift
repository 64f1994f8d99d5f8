import AgentModel
import AppProtocol
import Glibc
import KeyFile
import Testing

@testable import Agent

/// The key file where the settings say it is, under the root key that they say.
@Suite struct StoreTests {
    private func settings(_ folder: String, _ more: [String: String] = [:]) throws -> AgentSettings {
        try AgentSettings(environment: ["ALTNET_STATE_DIR": folder].merging(more) { $1 })
    }

    private func write(_ byte: UInt8, to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        defer { close(file) }
        let key = Array(repeating: byte, count: 32)
        try #require(Glibc.write(file, key, key.count) == key.count)
    }

    private func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Opens, stores a network, and closes again.
    private func store(_ name: String, _ settings: AgentSettings) async throws {
        let store = try Store(settings)
        let network = try StoredNetwork(DecryptedNetwork(ssid: SSID(name), password: nil))
        try await store.update { state in state.home = network }
    }

    private func home(_ settings: AgentSettings) async throws -> String? {
        try await Store(settings).state.home?.ssid.description
    }

    @Test func twoAgentsOnOneStoreAreRefused() async throws {
        try await inFolder { folder in
            let first = try Store(settings(folder))
            let error = #expect(throws: KeyFileError.self) { try Store(settings(folder)) }
            #expect(error == .inUse(path: folder))
            #expect(await first.state == StoredState())
        }
    }

    @Test func makesItsRootKeyBesideTheStore() async throws {
        try await inFolder { folder in
            try await store("Home", settings(folder))
            #expect(isThere(folder + "/keyfile") && isThere(folder + "/root-key"))
            #expect(try await home(settings(folder)) == "Home")
            unlink(folder + "/root-key")
            #expect(throws: KeyFileError.self) { try Store(settings(folder)) }
        }
    }

    @Test func keepsBothWhereTheSettingsSay() async throws {
        try await inFolder { folder in
            let settings = try settings(
                "/nonexistent/altnet",
                [
                    "ALTNET_KEYFILE": folder + "/networks", "ALTNET_ROOT_KEY": folder + "/key",
                    "ALTNET_KEYFILE_ANCHOR": folder + "/anchor",
                ])
            try await store("Home", settings)
            #expect(isThere(folder + "/networks") && isThere(folder + "/key") && isThere(folder + "/anchor"))
            #expect(!isThere("/nonexistent"))
            #expect(try await home(settings) == "Home")
        }
    }

    @Test func takesTheCredentialWhereThereIsOne() async throws {
        try await inFolder { folder in
            try await inFolder { credentials in
                let settings = try settings(folder, ["CREDENTIALS_DIRECTORY": credentials])
                try write(7, to: credentials + "/altnet.root-key")
                try await store("Home", settings)
                #expect(!isThere(folder + "/root-key"), "the key is not the agent's to make")
                #expect(try await home(settings) == "Home")
                try write(8, to: credentials + "/altnet.root-key")
                let error = #expect(throws: KeyFileError.self) { try Store(settings) }
                #expect(error == .wrongRootKey(path: folder + "/keyfile"))
            }
        }
    }

    @Test func aRootKeyThatIsSetComesBeforeTheCredential() async throws {
        try await inFolder { folder in
            let settings = try settings(
                folder, ["CREDENTIALS_DIRECTORY": folder, "ALTNET_ROOT_KEY": folder + "/mine"])
            try write(7, to: folder + "/altnet.root-key")
            try await store("Home", settings)
            #expect(isThere(folder + "/mine"))
        }
    }

    @Test func withoutTheCredentialTheKeyIsAFile() async throws {
        try await inFolder { folder in
            try await store("Home", settings(folder, ["CREDENTIALS_DIRECTORY": folder + "/none"]))
            #expect(isThere(folder + "/root-key"))
        }
    }

    /// Knowledge about unknown networks does not come back from the store.
    @Test func returnsWhatIsKept() async throws {
        try await inFolder { folder in
            let store = try Store(settings(folder))
            let home = try StoredNetwork(DecryptedNetwork(ssid: SSID("Home"), password: nil))
            let stranger = try SSID("Stranger")
            let state = try await store.update { state in
                state.home = home
                state.statistics = [
                    home.ssid: NetworkStatistics(lastSeen: 5), stranger: NetworkStatistics(lastSeen: 5),
                ]
            }
            #expect(state.statistics.keys.map(\.description) == ["Home"])
            #expect(await store.state == state)
        }
    }

    @Test func refusalsHaveTheProtocolsCodes() throws {
        let ssid = try SSID("Home")
        #expect(ProtocolError(KeyFileError.tooManyBackups(count: 4, maximum: 3)).code == .tooManyNetworks)
        #expect(ProtocolError(KeyFileError.duplicateBackup(ssid)).code == .duplicateNetwork)
        #expect(ProtocolError(KeyFileError.invalidPassphrase(ssid, .length(7))).code == .invalidPassword)
        #expect(ProtocolError(KeyFileError.counterWouldGoBack(name: "app")).code == .storageFailed)
        #expect(ProtocolError(KeyFileError.system(.write, path: "/x", errno: ENOSPC)).code == .storageFailed)
    }
}
