import Randomness
import Testing

@testable import AgentModel

#if os(Linux)
    import Glibc
#endif

@Suite struct SecretTests {
    @Test func neverShowsItself() {
        let secret = Secret(text: "hunter22")
        var dumped = ""
        dump(["password": secret], to: &dumped)
        for shown in ["\(secret)", String(reflecting: secret), String(describing: Optional(secret)), dumped] {
            #expect(shown.contains("<redacted>") || shown.contains("Secret"))
            #expect(!shown.contains("hunter22"))
            #expect(!shown.contains("104"))
        }
    }

    @Test func comparesByValue() {
        #expect(Secret(text: "abc") == Secret([0x61, 0x62, 0x63]))
        #expect(Secret(text: "abc") != Secret(text: "abd"))
        #expect(Secret(text: "abc") != Secret(text: "ab"))
        #expect(Secret(text: "abc").withBytes { Array($0) } == Array("abc".utf8))
    }

    @Test func wipesMemory() {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 1)
        defer { buffer.deallocate() }
        buffer.copyBytes(from: repeatElement(0xaa, count: 16))
        wipe(buffer)
        #expect(buffer.allSatisfy { $0 == 0 })
    }

    @Test(arguments: [
        ("1234567", InvalidPassphrase.length(7)), ("", .length(0)), ("12345678é", .notPrintableASCII),
        ("1234567\n", .notPrintableASCII), (String(repeating: "g", count: 64), .length(64)),
        (String(repeating: "a", count: 65), .length(65)),
    ])
    func impossiblePassphrasesAreRefused(text: String, error: InvalidPassphrase) {
        #expect(throws: error) { try Passphrase.validate(Secret(text: text)) }
    }

    @Test func possiblePassphrasesAreAccepted() throws {
        try Passphrase.validate(Secret(text: "12345678"))
        try Passphrase.validate(Secret(text: String(repeating: "~", count: 63)))
        try Passphrase.validate(Secret(text: String(repeating: "aF09", count: 16)))
    }

    /// SAE takes any text (IEEE 802.11-2020, 12.4.3).
    // covers: seed/wpa3
    @Test(arguments: ["1", "1234567", "café", String(repeating: "é", count: 64), String(repeating: "a", count: 128)])
    func networksOfWPA3TakeOtherPasswordsToo(text: String) throws {
        try Passphrase.validate(Secret(text: text), for: .wpa3)
        for security in [nil, Security.wpa2, .wpa2wpa3] {
            #expect(throws: InvalidPassphrase.self) { try Passphrase.validate(Secret(text: text), for: security) }
        }
    }

    @Test(
        arguments: [
            ([], InvalidPassphrase.saeLength(0)), (Array(repeating: 0x61, count: 129), .saeLength(129)),
            ([0x61, 0], .notText), ([0x0a], .notText), ([0xc2, 0x85], .notText), ([0x61, 0xff], .notText),
            ([0xc3], .notText),
        ] as [([UInt8], InvalidPassphrase)])
    func impossiblePasswordsOfWPA3AreRefused(bytes: [UInt8], error: InvalidPassphrase) {
        #expect(throws: error) { try Passphrase.validate(Secret(bytes), for: .wpa3) }
    }

    @Test func aKeyIsReadFromItsDigits() {
        let digits = "00ff" + String(repeating: "aB", count: 30)
        #expect(Passphrase.key(in: Secret(text: digits)) == Secret([0, 0xff] + [UInt8](repeating: 0xab, count: 30)))
        #expect(Passphrase.key(in: Secret(text: String(digits.dropLast()))) == nil)
        #expect(Passphrase.key(in: Secret(text: digits.dropLast() + "g")) == nil)
    }
}

#if os(Linux)
    @Suite struct ProtectedMemoryTests {
        @Test(arguments: [0, 1, 32, 64, 65, 4096, 5000, 100_000])
        func coreDumpsAndChildrenGoWithoutSecrets(count: Int) throws {
            let secret = Secret((0..<count).lazy.map { UInt8(truncatingIfNeeded: $0) })
            #expect(secret.count == count)
            try secret.withBytes { bytes in
                #expect(bytes.elementsEqual((0..<count).lazy.map { UInt8(truncatingIfNeeded: $0) }))
                let mapping = try #require(OwnMemory().mapping(of: bytes))
                #expect(mapping.flags.isSuperset(of: ["dd", "wf"]), "\(mapping)")
                #expect(mapping.addresses.upperBound - UInt(bitPattern: bytes.baseAddress) >= count)
            }
        }

        /// Looks through all memory of a process in which nothing else happens. The secret is never anywhere but where
        /// it belongs: it is calculated byte by byte right there.
        @Test func aSecretIsInOnePlaceOnlyAndThenInNone() async {
            await #expect(processExitsWith: .success) {
                for count in [48, 5000] {
                    let bytes = (0..<count).lazy.map { UInt8(truncatingIfNeeded: ($0 &* 167) ^ ($0 >> 3) ^ count) }
                    let sought = Secret(bytes)
                    var secret: Secret? = Secret(bytes)
                    let memory = try OwnMemory()
                    let places = try memory.places(of: sought)
                    #expect(places.count == 2)
                    #expect(
                        places.allSatisfy { place in
                            memory.mappings.contains { $0.addresses.contains(place) && $0.flags.contains("dd") }
                        })
                    #expect(secret == sought)
                    secret = nil
                    #expect(try OwnMemory().places(of: sought).count == 1)
                }
            }
        }

        @Test func manyThreadsTakeAndGiveBack() async {
            await withTaskGroup { group in
                for thread in 0..<8 {
                    group.addTask {
                        var kept: [Secret] = []
                        for round in 0..<500 {
                            let size = [8, 64, 65, 300, 4096, 5000][round % 6]
                            let mark = UInt8(truncatingIfNeeded: thread * 31 + round)
                            kept.append(Secret(repeatElement(mark, count: size)))
                            guard kept.count > 12 else { continue }
                            let oldest = UInt8(truncatingIfNeeded: thread * 31 + round - 12)
                            #expect(kept.removeFirst().withBytes { $0.allSatisfy { $0 == oldest } })
                        }
                    }
                }
            }
        }

        @Test func aForkedChildFindsZerosAndCanGiveThemBack() async {
            await #expect(processExitsWith: .success) {
                var secrets: [Secret] = [8, 64, 4096, 5000].map { Secret(repeatElement(0xa5, count: $0)) }
                let child = try forkedChild {
                    let blank = secrets.allSatisfy { $0.withBytes { $0.allSatisfy { $0 == 0 } } }
                    secrets = []
                    return blank && Secret([1, 2, 3]).withBytes { $0.elementsEqual([1, 2, 3]) }
                }
                #expect(child)
                #expect(secrets.allSatisfy { $0.withBytes { $0.allSatisfy { $0 == 0xa5 } } })
            }
        }

        @Test func withoutRoomToLockItIsNotLocked() async {
            await #expect(processExitsWith: .success) {
                try allowNothing(of: __RLIMIT_MEMLOCK)
                // Root may lock all the same.
                if geteuid() == 0 { try #require(seteuid(65534) == 0) }
                let secrets = [64, 5000].map { Secret(repeatElement(0xa5, count: $0)) }
                _ = seteuid(getuid())
                let memory = try OwnMemory()
                for secret in secrets {
                    let flags = try #require(secret.withBytes { memory.mapping(of: $0) }).flags
                    #expect(flags.isSuperset(of: ["dd", "wf"]))
                    #expect(!flags.contains("lo"))
                    #expect(secret.withBytes { $0.allSatisfy { $0 == 0xa5 } })
                }
            }
        }

        @Test func withoutNewPagesPlainMemoryServes() async {
            await #expect(processExitsWith: .success) {
                // The allocator gets its memory from the system before there is no more.
                UnsafeMutableRawPointer.allocate(byteCount: 100_000, alignment: 16).deallocate()
                try allowNothing(of: RLIMIT_AS)
                let secrets = (0..<200).map { Secret(repeatElement(UInt8($0), count: $0 == 7 ? 5000 : 50)) }
                #expect(
                    secrets.enumerated().allSatisfy { mark, secret in
                        secret.withBytes { $0.allSatisfy { $0 == mark } }
                    })
            }
        }
    }

    /// The result of `body` in a forked child.
    private func forkedChild(_ body: () -> Bool) throws -> Bool {
        let child = fork()
        if child == 0 { _exit(body() ? 0 : 1) }
        try #require(child > 0)
        var status: Int32 = 0
        try #require(waitpid(child, &status, 0) == child)
        return status == 0
    }

    private func allowNothing(of resource: __rlimit_resource) throws {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        let result = setrlimit(__rlimit_resource_t(resource.rawValue), &none)
        try #require(result == 0)
    }

    @Suite struct ProtectedPagesTests {
        private let pageSize = ProtectedPages.pageSize

        @Test func piecesAreZeroAndKeepTheirDistance() throws {
            var pages = ProtectedPages()
            let sizes = [0, 1, 64, 65, 100, pageSize / 2, pageSize - 1, pageSize]
            let pieces = try sizes.map { try pages.piece($0) }
            #expect(pieces.map(\.count) == sizes)
            #expect(pieces.allSatisfy { $0.allSatisfy { $0 == 0 } })
            #expect(pieces.allSatisfy { UInt(bitPattern: $0.baseAddress) % UInt(ProtectedPages.unitSize) == 0 })
            let starts = pieces.compactMap(\.baseAddress).sorted()
            #expect(Set(starts).count == sizes.count)
            for piece in pieces {
                let start = try #require(piece.baseAddress)
                #expect(starts.allSatisfy { $0 <= start || $0 >= start + piece.count })
            }
            for piece in pieces { pages.giveBack(piece) }
            #expect(pages.pages.count == 1)
            #expect(pages.pages.first?.isEmpty == true)
        }

        @Test func givenBackUnitsAreTakenAgain() throws {
            var pages = ProtectedPages()
            let pieces = try (0..<64).map { _ in try pages.piece(ProtectedPages.unitSize) }
            #expect(pages.pages.count == 1)
            // A hole of two units and one of one: what needs two goes into the larger one.
            for index in [10, 20, 21] { pages.giveBack(pieces[index]) }
            let two = try pages.piece(ProtectedPages.unitSize + 1)
            let one = try pages.piece(1)
            #expect(two.baseAddress == pieces[20].baseAddress)
            #expect(one.baseAddress == pieces[10].baseAddress)
            #expect(pages.pages.count == 1)
            _ = try pages.piece(1)
            #expect(pages.pages.count == 2)
        }

        @Test func shortLivedBuffersNeedNoNewPages() throws {
            var pages = ProtectedPages()
            let secret = try pages.piece(32)
            let spare = try pages.piece(pageSize)
            pages.giveBack(spare)
            for _ in 0..<1000 {
                let buffer = try pages.piece(pageSize)
                #expect(buffer.baseAddress == spare.baseAddress)
                pages.giveBack(buffer)
            }
            #expect(pages.pages.count == 2)
            pages.giveBack(secret)
            #expect(pages.pages.count == 1)
        }

        @Test(arguments: 1...4) func piecesAreNeverShared(seed: UInt64) throws {
            var random = SeededRandom(seed: seed)
            var pages = ProtectedPages()
            var taken: [(piece: UnsafeMutableRawBufferPointer, mark: UInt8)] = []
            for _ in 0..<2000 {
                if taken.count < 40, Bool.random(using: &random) {
                    let size = Int.random(in: 0...(Bool.random(using: &random) ? 64 : pageSize), using: &random)
                    let piece = try pages.piece(size)
                    try #require(piece.allSatisfy { $0 == 0 })
                    let mark = UInt8.random(in: 1...255, using: &random)
                    piece.initializeMemory(as: UInt8.self, repeating: mark)
                    taken.append((piece, mark))
                } else if let index = taken.indices.randomElement(using: &random) {
                    let (piece, mark) = taken.remove(at: index)
                    try #require(piece.allSatisfy { $0 == mark })
                    wipe(piece)
                    pages.giveBack(piece)
                }
                // Each page but one has something in it.
                try #require(pages.pages.count <= taken.count + 1)
            }
            for (piece, mark) in taken {
                #expect(piece.allSatisfy { $0 == mark })
                pages.giveBack(piece)
            }
            #expect(pages.pages.count == 1)
        }
    }

    extension ProtectedPages {
        fileprivate mutating func piece(_ byteCount: Int) throws -> UnsafeMutableRawBufferPointer {
            let piece = allocate(byteCount)
            return try #require(piece)
        }
    }

    /// This process's memory, as the kernel tells of it: proc(5), `/proc/self/smaps` and `/proc/self/mem`.
    struct OwnMemory {
        let mappings: [Mapping]

        struct Mapping {
            let addresses: Range<UInt>
            let isWritable: Bool
            /// `VmFlags`: "dd" is left out of core dumps, "wf" wiped on fork, "lo" locked.
            var flags: Set<Substring> = []
        }

        init() throws {
            let stream = try #require(fopen("/proc/self/smaps", "r"))
            defer { fclose(stream) }
            var line: UnsafeMutablePointer<CChar>?
            var capacity = 0
            defer { free(line) }
            var mappings: [Mapping] = []
            while getline(&line, &capacity, stream) > 0, let line {
                let words = String(cString: line).split(whereSeparator: \.isWhitespace)
                if words.first == "VmFlags:" {
                    mappings[mappings.count - 1].flags = Set(words.dropFirst())
                } else if let mapping = Mapping(words) {
                    mappings.append(mapping)
                }
            }
            self.mappings = mappings
        }

        func mapping(of bytes: UnsafeRawBufferPointer) -> Mapping? {
            let start = UInt(bitPattern: bytes.baseAddress)
            return mappings.first { $0.addresses.contains(start) }
        }

        /// The places of the secret's bytes, the secret itself included, anywhere in writable memory.
        func places(of secret: Secret) throws -> [UInt] {
            let memory = open("/proc/self/mem", O_RDONLY)
            try #require(memory >= 0)
            defer { close(memory) }
            let window = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 1)
            defer { window.deallocate() }
            defer { wipe(window) }
            let windowAddresses = UInt(bitPattern: window.baseAddress)..<UInt(bitPattern: window.baseAddress) + 1 << 20

            var places: [UInt] = []
            for mapping in mappings where mapping.isWritable {
                // Windows overlap, so that nothing hides between two of them.
                for start in stride(
                    from: mapping.addresses.lowerBound, to: mapping.addresses.upperBound,
                    by: window.count - secret.count + 1)
                {
                    let size = min(window.count, Int(mapping.addresses.upperBound - start))
                    wipe(window)
                    let count = pread(memory, window.baseAddress, size, off_t(start))
                    guard count > 0 else { break }
                    let found = UnsafeRawBufferPointer(rebasing: window[..<count]).offsets(of: secret)
                    places += found.lazy.map { start + UInt($0) }.filter { !windowAddresses.contains($0) }
                }
            }
            return places
        }
    }

    extension OwnMemory.Mapping {
        /// From a line that begins a mapping: addresses, permissions, offset, device, inode and perhaps a path.
        fileprivate init?(_ words: [Substring]) {
            guard words.count >= 5 else { return nil }
            let addresses = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard addresses.count == 2 else { return nil }
            self.init(addresses: addresses[0]..<addresses[1], isWritable: words[1].contains("w"))
        }
    }

    extension UnsafeRawBufferPointer {
        /// The offsets of the secret in these bytes.
        fileprivate func offsets(of secret: Secret) -> [Int] {
            secret.withBytes { secret in
                guard let start = baseAddress, let sought = secret.baseAddress, let first = secret.first else {
                    return []
                }
                var offsets: [Int] = []
                var next = 0
                while next <= count - secret.count,
                    let found = memchr(start + next, Int32(first), count - secret.count + 1 - next)
                {
                    let offset = UnsafeRawPointer(found) - start
                    if memcmp(found, sought, secret.count) == 0 { offsets.append(offset) }
                    next = offset + 1
                }
                return offsets
            }
        }
    }
#endif
