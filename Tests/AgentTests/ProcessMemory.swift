import Foundation

/// The memory of a process, as the kernel shows it to a debugger (`/proc/PID/smaps` and `mem` in proc(5)).
struct ProcessMemory {
    struct Region {
        let range: Range<UInt64>
        /// The file that is mapped there, `[heap]` and the like; empty for nothing of the kind.
        let name: String
        var isWritable = false
        /// Emptied in a child (MADV_WIPEONFORK): so are the pages of secrets, and nothing else.
        var isOfSecrets = false
    }

    let pid: pid_t

    func regions() throws -> [Region] {
        var regions: [Region] = []
        // The kernel gives out a few regions at a time, and Foundation takes the first for the whole file.
        let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(pid)/smaps"))
        defer { try? file.close() }
        var text: [UInt8] = []
        while case let piece = file.availableData, !piece.isEmpty { text += piece }
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            if ends.count == 2, words.count >= 5 {
                regions.append(
                    Region(
                        range: ends[0]..<ends[1], name: words.count > 5 ? String(words[5]) : "",
                        isWritable: words[1].hasPrefix("rw")))
            } else if words[0] == "VmFlags:", !regions.isEmpty {
                regions[regions.count - 1].isOfSecrets = words.contains("wf")
            }
        }
        return regions.filter(\.isWritable)
    }

    /// - Returns: nil where it is gone meanwhile, or may not be read (`[vvar]`).
    func content(of region: Region) -> [UInt8]? {
        let file = open("/proc/\(pid)/mem", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: region.range.count)
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeMutableBytes {
                pread(file, $0.baseAddress! + done, $0.count - done, off_t(region.range.lowerBound) + off_t(done))
            }
            guard count > 0 else { return done > 0 ? Array(bytes.prefix(done)) : nil }
            done += count
        }
        return bytes
    }
}

extension [UInt8] {
    func contains(_ other: [UInt8]) -> Bool {
        withUnsafeBytes { bytes in
            other.withUnsafeBytes { other in
                memmem(bytes.baseAddress, bytes.count, other.baseAddress, other.count) != nil
            }
        }
    }
}

/// memmem(3), which glibc hides from all but GNU sources.
private let memmem = unsafeBitCast(
    dlsym(nil, "memmem"),
    to: (@convention(c) (UnsafeRawPointer?, Int, UnsafeRawPointer?, Int) -> UnsafeRawPointer?).self)
