import Glibc
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
            for name in ["device-id", "local-key", "device-id.new", "local-key.new"] { unlink("\(path)/\(name)") }
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

    @Test func aMissingFolderIsAnError() {
        #expect(throws: IdentityError.self) { try DeviceIdentity.load(from: "/nonexistent/altnet") }
    }
}
