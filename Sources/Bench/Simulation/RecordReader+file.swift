import AgentModel
import Failover
import Glibc

extension RecordReader {
    public static func read(_ path: String) throws(RecordError) -> [RecordedRun] {
        try runs(in: try content(of: path), of: path)
    }

    private static let largestFile = 1024 << 20

    static func content(of path: String) throws(RecordError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw RecordError(file: path, reason: .system(SystemError("open"))) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw RecordError(file: path, reason: .notAFile)
        }
        guard status.st_size <= largestFile else {
            throw RecordError(file: path, reason: .tooLarge(maximum: largestFile))
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var count = 0
        while count < bytes.count {
            let more = bytes.withUnsafeMutableBytes { bytes in
                let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
                return Glibc.read(descriptor, rest.baseAddress, rest.count)
            }
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else { throw RecordError(file: path, reason: .system(SystemError("read"))) }
            if more == 0 { break }
            count += more
        }
        return Array(bytes.prefix(count))
    }
}
