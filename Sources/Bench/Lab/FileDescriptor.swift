import Glibc

/// An open file or socket that closes itself.
final class FileDescriptor: Sendable {
    let number: Int32

    /// - Parameter number: what `open` or `socket` returned; negative means that the call failed.
    init(_ number: Int32, attempt: @autoclosure () -> String) throws(LabError) {
        guard number >= 0 else { throw .lastCall(attempt()) }
        self.number = number
    }

    deinit { close(number) }

    static func open(_ path: String, _ flags: Int32) throws(LabError) -> FileDescriptor {
        try FileDescriptor(Glibc.open(path, flags | O_CLOEXEC), attempt: "open \(path)")
    }

    static func socket(
        _ domain: Int32, _ type: __socket_type, _ protocol: Int32 = 0
    ) throws(LabError) -> FileDescriptor {
        let flags = Int32(type.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        return try FileDescriptor(Glibc.socket(domain, flags, `protocol`), attempt: "open a socket")
    }
}
