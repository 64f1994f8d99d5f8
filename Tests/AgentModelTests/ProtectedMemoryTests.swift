#if os(Linux)
    import Glibc
    import Testing

    @testable import AgentModel

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

        /// Looks through all memory of a process in which nothing else happens. The secret is never anywhere but where it
        /// belongs: it is calculated byte by byte right there.
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
                // What the allocator needs of the system, it gets before there is no more.
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

    /// What `body` says in a forked child.
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
#endif
