#if os(Linux)
    import AgentModel
    import Glibc
    import Testing

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

        /// Where the secret's bytes are to be found, the secret itself included, anywhere in writable memory.
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
        /// Where in these bytes the secret begins.
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
