import AgentModel
import Glibc
import Randomness
import Testing

@testable import KeyFile

/// Root keys on the machine's own file systems.
@Suite struct RootKeyFileTests {
    private let digits = Array((String(repeating: "5a", count: 32) + "\n").utf8)
    private let key = Secret(repeatElement(0x5a, count: 32))

    @Test func makesTheFirstKeyAtRandomAndPrivate() throws {
        try withScratchDirectory { scratch in
            let path = "\(scratch)/etc/altnet/root-key"
            let source = try RootKeyFile(path: path)
            #expect(try source.load() == nil)
            let key = try source.makeFirst()
            #expect(try source.load() == RootKeys(current: key))
            #expect(try RootKeyFile(path: path).load() == RootKeys(current: key))
            #expect(mode(path) == 0o600)
            #expect(mode("\(scratch)/etc/altnet") == 0o700)
            #expect(names(in: "\(scratch)/etc/altnet") == ["root-key"])
            let content = try contents(of: path)
            #expect(content.count == 65 && content.last == 0x0a)
            #expect(content.dropLast().allSatisfy("0123456789abcdef".utf8.contains))
            #expect(try RootKeyFile(path: "\(scratch)/other").makeFirst() != key)
        }
    }

    @Test func neverMakesAKeyInThePlaceOfAnother() throws {
        try withScratchDirectory { scratch in
            try write(digits, to: "\(scratch)/root-key")
            #expect(try RootKeyFile(path: "\(scratch)/root-key").makeFirst() == key)
            try write([1, 2, 3], to: "\(scratch)/damaged")
            #expect(throws: KeyFileError.self) { try RootKeyFile(path: "\(scratch)/damaged").makeFirst() }
            #expect(try contents(of: "\(scratch)/damaged") == [1, 2, 3])
        }
    }

    @Test func changesTheKeyInThreeSteps() throws {
        try withScratchDirectory { scratch in
            let path = "\(scratch)/root-key"
            let source = try RootKeyFile(path: path)
            let first = try source.makeFirst()
            try source.prepare(key)
            #expect(try source.load() == RootKeys(current: first, prepared: key))
            #expect(mode("\(path).next") == 0o600)
            try source.discardPrepared()
            #expect(try source.load() == RootKeys(current: first))
            try source.discardPrepared()
            try source.prepare(Secret(repeatElement(1, count: 32)))
            try source.prepare(key)
            try source.adoptPrepared()
            #expect(try source.load() == RootKeys(current: key))
            #expect(names(in: scratch) == ["root-key"])
            #expect(try contents(of: path) == digits)
            try source.adoptPrepared()
            #expect(try source.load() == RootKeys(current: key))
        }
    }

    @Test func aDamagedPreparedKeyCountsAsNone() throws {
        try withScratchDirectory { scratch in
            try write(digits, to: "\(scratch)/root-key")
            try write(Array(digits.dropLast(9)), to: "\(scratch)/root-key.next")
            let source = try RootKeyFile(path: "\(scratch)/root-key")
            #expect(try source.load() == RootKeys(current: key))
            try source.discardPrepared()
            #expect(names(in: scratch) == ["root-key"])
        }
    }

    /// As a power cut can leave it on FAT.
    @Test func aPreparedKeyThatIsAloneIsTheKey() throws {
        for change in [{ try $0.prepare($1) }, { source, _ in try source.discardPrepared() }]
            as [(RootKeyFile, Secret) throws -> Void]
        {
            try withScratchDirectory { scratch in
                try write(digits, to: "\(scratch)/root-key.next")
                let source = try RootKeyFile(path: "\(scratch)/root-key")
                #expect(try source.load() == RootKeys(current: key))
                #expect(try source.makeFirst() == key)
                try change(source, Secret(repeatElement(1, count: 32)))
                #expect(try source.load()?.current == key)
                #expect(try contents(of: "\(scratch)/root-key") == digits)
            }
        }
    }

    @Test func takesAccessAwayFromOthersAndSaysSo() throws {
        try withScratchDirectory { scratch in
            let path = "\(scratch)/root-key"
            try write(digits, to: path, mode: 0o644)
            try write(digits, to: "\(path).next", mode: 0o620)
            let source = try RootKeyFile(path: path)
            #expect(
                try source.load()?.findings == [
                    .readableByOthers(path: path, corrected: true),
                    .readableByOthers(path: "\(path).next", corrected: true),
                ])
            #expect(mode(path) == 0o600)
            #expect(mode("\(path).next") == 0o600)
            #expect(try source.load()?.findings == [])
        }
    }

    @Test func whatACutWriteLeavesBehindIsHarmless() throws {
        try withScratchDirectory { scratch in
            let path = "\(scratch)/root-key"
            try write([1, 2, 3], to: "\(scratch)/bait")
            #expect(symlink("bait", "\(path).new") == 0)
            try write(digits, to: "\(path).next.new", mode: 0o666)
            let source = try RootKeyFile(path: path)
            #expect(try source.load() == nil)
            let first = try source.makeFirst()
            try source.prepare(key)
            #expect(try source.load() == RootKeys(current: first, prepared: key))
            #expect(mode("\(path).next") == 0o600)
            #expect(names(in: scratch) == ["bait", "root-key", "root-key.next"])
            #expect(try contents(of: "\(scratch)/bait") == [1, 2, 3])
        }
    }

    @Test func refusesWhatIsNoFileOfItsOwn() throws {
        for path in ["", "/", "/etc/altnet/", "..", "a\0b"] {
            #expect(throws: KeyFileError.invalidPath(path)) { try RootKeyFile(path: path) }
        }
        try withScratchDirectory { scratch in
            func refused(_ name: String, _ problem: String) {
                let path = "\(scratch)/\(name)"
                let loading = #expect(throws: KeyFileError.self) { try RootKeyFile(path: path).load() }
                let making = #expect(throws: KeyFileError.self) { try RootKeyFile(path: path).makeFirst() }
                for error in [loading, making] {
                    guard case .invalidRootKey(path, let found)? = error else {
                        Issue.record("\(String(describing: error))")
                        continue
                    }
                    #expect(found.contains(problem))
                }
            }
            #expect(mkdir("\(scratch)/directory", 0o700) == 0)
            refused("directory", "regular file")
            #expect(mkfifo("\(scratch)/pipe", 0o600) == 0)
            refused("pipe", "regular file")
            try write(digits, to: "\(scratch)/file")
            #expect(symlink("file", "\(scratch)/link") == 0)
            refused("link", "symbolic link")
            try write([], to: "\(scratch)/empty")
            refused("empty", "32 bytes")
            try write(Array(repeating: 0x61, count: 1 << 20), to: "\(scratch)/large")
            refused("large", "32 bytes")
        }
    }

    @Test(.enabled(if: canMount, "needs root and the right to mount"))
    func aReadOnlyDiskCanBeReadAndTakesNoChange() throws {
        try withTinyFileSystem { directory in
            let path = "\(directory)/root-key"
            try write(digits, to: path, mode: 0o644)
            #expect(mount("none", directory, nil, UInt(MS_REMOUNT) | UInt(MS_RDONLY), nil) == 0)
            let source = try RootKeyFile(path: path)
            let keys = RootKeys(current: key, findings: [.readableByOthers(path: path, corrected: false)])
            #expect(try source.load() == keys)
            #expect(throws: KeyFileError.self) { try source.prepare(key) }
            #expect(throws: KeyFileError.self) { try RootKeyFile(path: "\(directory)/other").makeFirst() }
            #expect(try source.load() == keys)
        }
    }
}

/// All bytes of a file of at most 16 KiB.
func contents(of path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ScratchError(errno: errno) }
    defer { close(descriptor) }
    return [UInt8](unsafeUninitializedCapacity: 1 << 14) { buffer, count in
        count = max(read(descriptor, buffer.baseAddress, buffer.count), 0)
    }
}

@Suite struct RootKeyFormTests {
    private func decode(_ bytes: [UInt8]) throws(KeyFileError) -> Secret {
        try bytes.withUnsafeBytes { bytes in
            Result { () throws(KeyFileError) in
                try RootKeyForm.decode(bytes, source: "/etc/altnet/root-key")
            }
        }.get()
    }

    private func encode(_ key: [UInt8]) -> String {
        RootKeyForm.encode(Secret(key)).withBytes { String(decoding: $0, as: UTF8.self) }
    }

    private let key = (0..<32).map { UInt8(truncatingIfNeeded: $0 * 37 + 200) }
    private let text = "c8ed12375c81a6cbf0153a5f84a9cef3183d6287acd1f61b40658aafd4f91e43"

    @Test func isSixtyFourDigitsAndALineFeed() throws {
        #expect(encode(key) == text + "\n")
        for form in [text + "\n", text, text.uppercased() + "\n"] {
            #expect(try decode(Array(form.utf8)) == Secret(key))
        }
    }

    @Test func takesThirtyTwoBytesAsTheyAre() throws {
        #expect(try decode(key) == Secret(key))
        let endsLikeALine = key.dropLast() + [0x0a]
        #expect(try decode(Array(endsLikeALine)) == Secret(endsLikeALine))
    }

    @Test(arguments: [
        ("", "neither"), ("\n", "neither"), (" ", "neither"),
        (String(repeating: "a1", count: 31) + "a", "neither"), (String(repeating: "a1", count: 33), "neither"),
        (String(repeating: "a1", count: 32) + "\r\n", "neither"),
        (String(repeating: "a1", count: 32) + "\n\n", "neither"),
        (String(repeating: "a1", count: 31) + "g1\n", "not hexadecimal digits"),
        (String(repeating: "a1", count: 31) + " 1\n", "not hexadecimal digits"),
        (String(repeating: "00", count: 32) + "\n", "zeros"), (String(repeating: "\0", count: 32), "zeros"),
        ("correct horse battery staple 2026", "neither"), ("0123456789abcdef0123456789abcdef", "text"),
        ("my own secret of thirty-two char", "text"), ("my own secret of thirty-one cha\n", "text"),
    ])
    func refusesWhatIsNoKey(content: String, problem: String) throws {
        do throws(KeyFileError) {
            _ = try decode(Array(content.utf8))
            Issue.record("took \(content)")
        } catch {
            guard case .invalidRootKey("/etc/altnet/root-key", let said) = error else { throw error }
            #expect(said.contains(problem))
        }
    }

    /// Any bytes are a key that reads the same when it is written again, or a refusal that does not repeat them.
    @Test func anyBytes() throws {
        var random = SeededRandom(seed: 1)
        var keys = 0
        for _ in 0..<20_000 {
            let isNearlyRight = Bool.random(using: &random)
            var bytes = isNearlyRight ? Array((text + "\n").utf8) : []
            if isNearlyRight {
                for _ in 0..<Int.random(in: 0...2, using: &random) {
                    bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                if random.next() % 4 == 0 { bytes.removeLast(Int.random(in: 0...33, using: &random)) }
            } else {
                let size = Int.random(in: 0...70, using: &random)
                bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
            }
            do throws(KeyFileError) {
                let key = try decode(bytes)
                keys += 1
                #expect(key.count == RootKeys.size)
                let again = RootKeyForm.encode(key).withBytes { Array($0) }
                #expect(try decode(again) == key)
            } catch {
                guard case .invalidRootKey = error else { throw error }
                #expect(bytes.count < 8 || !"\(error)".contains(String(decoding: bytes.prefix(8), as: UTF8.self)))
            }
        }
        #expect((2_000...18_000).contains(keys), "both happen often: \(keys)")
    }
}

@Suite struct CredentialRootKeyTests {
    private let key = (0..<32).map { UInt8(truncatingIfNeeded: $0 * 37 + 200) }

    /// Runs `body` with a directory as systemd makes it: read-only, and its files, too, whose group bits are those of
    /// an access control list's mask.
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
