import AgentModel
import Glibc
import Testing

@testable import KeyFile

@Suite struct CredentialRootKeyTests {
    private let key = (0..<32).map { UInt8(truncatingIfNeeded: $0 * 37 + 200) }

    /// Runs `body` with a directory as systemd makes it: read-only, and its files, too, whose group bits are those of an
    /// access control list's mask.
    private func withCredentials(_ credentials: [String: [UInt8]], _ body: (String) throws -> Void) throws {
        try withScratchDirectory { scratch in
            for (name, content) in credentials { try write(content, to: "\(scratch)/\(name)", mode: 0o440) }
            #expect(chmod(scratch, 0o550) == 0)
            defer { chmod(scratch, 0o700) }
            try body(scratch)
        }
    }

    @Test func readsDigitsAndBytesAndLeavesThemAsTheyAre() throws {
        try withCredentials(["digits": Array((Hex.string(key) + "\n").utf8), "bytes": key]) { directory in
            for name in ["digits", "bytes"] {
                let keys = try CredentialRootKey(name: name, directory: directory).load()
                #expect(keys == RootKeys(current: Secret(key)))
                #expect(mode("\(directory)/\(name)") == 0o440)
            }
        }
    }

    @Test func isReadOnly() throws {
        try withCredentials(["altnet.root-key": key]) { directory in
            let source = try CredentialRootKey(name: "altnet.root-key", directory: directory)
            let refusal = KeyFileError.rootKeyReadOnly(source: source.source)
            #expect(throws: KeyFileError.noRootKey(source: "the credential \(directory)/altnet.root-key")) {
                try source.makeFirst()
            }
            #expect(throws: refusal) { try source.prepare(Secret(key)) }
            #expect(throws: refusal) { try source.adoptPrepared() }
            source.discardPrepared()
            #expect(names(in: directory) == ["altnet.root-key"])
            #expect(try source.load() == RootKeys(current: Secret(key)))
        }
    }

    @Test func isNoneIfSystemdPassesNone() throws {
        try withScratchDirectory { scratch in
            for directory in [scratch, "\(scratch)/credentials", "\(scratch)\0", ""] {
                let source = try CredentialRootKey(name: "altnet.root-key", directory: directory)
                #expect(try source.load() == nil)
            }
            #expect(names(in: scratch) == [], "the directory is not altnet's to make")
        }
    }

    @Test func refusesWhatIsNoCredential() throws {
        for name in ["", ".", "..", "../root-key", "/etc/passwd", "a\0b", "key/"] {
            #expect(throws: KeyFileError.invalidPath(name)) { try CredentialRootKey(name: name, directory: "/tmp") }
        }
        try withCredentials(["short": Array(key.dropLast()), "zeros": Array(repeating: 0, count: 32)]) { directory in
            for name in ["short", "zeros"] {
                #expect(throws: KeyFileError.self) { try CredentialRootKey(name: name, directory: directory).load() }
            }
            #expect(throws: KeyFileError.system(.open, path: "\(directory)/zeros", errno: ENOTDIR)) {
                try CredentialRootKey(name: "key", directory: "\(directory)/zeros")
            }
        }
    }
}
