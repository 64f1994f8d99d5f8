import AgentModel
import AppProtocol
import Glibc
import KeyFile
import Testing

@testable import Agent

@Suite struct DeviceIdentityTests {
    /// Calls `body` with a fresh folder.
    private func inFolder(_ body: (String) throws -> Void) throws {
        var template = Array("/tmp/altnet-identity-XXXXXX".utf8CString)
        let path = try #require(
            template.withUnsafeMutableBufferPointer { buffer in
                buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
            })
        defer {
            for name in ["device-id", "local-key", "device-id.new", "local-key.new", "identity.next"] {
                unlink("\(path)/\(name)")
            }
            rmdir(path)
        }
        try body(path)
    }

    @Test func isMadeOnceAndThenKept() throws {
        try inFolder { folder in
            let first = try DeviceIdentity.load(from: folder)
            let second = try DeviceIdentity.load(from: folder)
            #expect(first.id.count == 16)
            #expect(first.localKey.count == 64)
            #expect(first.id == second.id)
            #expect(first.localKey == second.localKey)
            var status = stat()
            #expect(stat("\(folder)/local-key", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
        }
    }

    @Test func noTwoDevicesAreTheSame() throws {
        try inFolder { folder in
            let first = try DeviceIdentity.load(from: folder)
            unlink("\(folder)/local-key")
            #expect(try DeviceIdentity.load(from: folder).localKey != first.localKey)
        }
    }

    @Test func aKeyThatIsTooShortIsRefused() throws {
        try inFolder { folder in
            _ = try DeviceIdentity.load(from: folder)
            truncate("\(folder)/local-key", 3)
            let error = #expect(throws: IdentityError.self) { try DeviceIdentity.load(from: folder) }
            #expect(error?.description.contains("16 to 64 bytes") == true)
        }
    }

    @Test func isInstalledOnceAndNeverReplaced() throws {
        try inFolder { folder in
            #expect(throws: IdentityError(path: "\(folder)/device-id", .missing)) {
                try DeviceIdentity.read(from: folder)
            }
            let made = try DeviceIdentity.random(id: "lamp-01")
            try made.install(in: folder)
            #expect(try DeviceIdentity.read(from: folder).key == made.key)
            let loaded = try DeviceIdentity.load(from: folder)
            #expect(loaded.hasKey(of: made) && loaded.key.certificate != nil)
            #expect(try DeviceIdentity.load(from: folder).key == loaded.key)
            for name in ["device-id", "local-key", "certificate"] {
                var status = stat()
                #expect(stat("\(folder)/\(name)", &status) == 0)
                #expect(status.st_mode & 0o777 == 0o600)
                #expect(access("\(folder)/\(name).new", F_OK) != 0)
            }
            #expect(throws: IdentityError(path: folder, .alreadyThere)) {
                try DeviceIdentity.random().install(in: folder)
            }
            // Half of one is one, too: its other half may exist elsewhere.
            unlink("\(folder)/device-id")
            #expect(throws: IdentityError(path: folder, .alreadyThere)) {
                try DeviceIdentity.random().install(in: folder)
            }
            #expect(access("\(folder)/device-id", F_OK) != 0)
        }
    }

    @Test func aKeyThatNoFileKeepsIsRefused() throws {
        try inFolder { folder in
            let key = try DeviceKey(deviceId: "lamp-01", localKey: Secret(text: "0123456789\n0123456789"))
            let error = #expect(throws: IdentityError.self) { try DeviceIdentity(key: key).install(in: folder) }
            #expect(error?.description.contains("line feed") == true)
            #expect(access("\(folder)/local-key", F_OK) != 0)
        }
    }

    /// An identity that was put in place as a whole counts, whatever a power cut has left of the rest.
    @Test func whatWasBegunIsFinished() throws {
        try inFolder { folder in
            _ = try DeviceIdentity.load(from: folder)
            let code = "altnet:pair?v=1&id=lamp-02&key=0123456789abcdef0123456789abcdef"
            let file = open("\(folder)/identity.next", O_WRONLY | O_CREAT, 0o600)
            write(file, code, code.utf8.count)
            close(file)
            #expect(try DeviceIdentity.read(from: folder).id == "lamp-02")
            #expect(access("\(folder)/identity.next", F_OK) == 0)
            #expect(try DeviceIdentity.load(from: folder).id == "lamp-02")
            #expect(access("\(folder)/identity.next", F_OK) != 0)
            #expect(try DeviceIdentity.read(from: folder).id == "lamp-02")
        }
    }

    @Test func aMissingFolderIsAnError() {
        #expect(throws: IdentityError.self) { try DeviceIdentity.load(from: "/nonexistent/altnet") }
    }
}

extension DeviceIdentity {
    fileprivate func install(in directory: String) throws {
        try IdentityFolder(try Folder.open(directory)).install(self)
    }
}
