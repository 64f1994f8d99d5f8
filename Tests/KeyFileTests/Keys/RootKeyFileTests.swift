import AgentModel
import Glibc
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
                let error = KeyFileError.invalidRootKey(source: path, problem: problem)
                #expect(throws: error) { try RootKeyFile(path: path).load() }
                #expect(throws: error) { try RootKeyFile(path: path).makeFirst() }
            }
            #expect(mkdir("\(scratch)/directory", 0o700) == 0)
            refused("directory", "it is not a regular file")
            #expect(mkfifo("\(scratch)/pipe", 0o600) == 0)
            refused("pipe", "it is not a regular file")
            try write(digits, to: "\(scratch)/file")
            #expect(symlink("file", "\(scratch)/link") == 0)
            refused("link", "it is a symbolic link")
            try write([], to: "\(scratch)/empty")
            refused("empty", "it is neither 64 hexadecimal digits nor 32 bytes")
            try write(Array(repeating: 0x61, count: 1 << 20), to: "\(scratch)/large")
            refused("large", "it is neither 64 hexadecimal digits nor 32 bytes")
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
