import AgentModel
import CLinux
import Glibc

/// A key of an input device, such as a button of the board (evdev).
public final class KeyDevice {
    public let path: String
    /// Readable where an event has come, or the device has gone. It does not block.
    public let descriptor: Int32

    public enum Event: Sendable, Equatable {
        case pressed
        case released
        /// The kernel has dropped events, or has released the key in the user's place: whether it is down is not known.
        case lost
    }

    /// - Parameters:
    ///   - path: of a device file, such as `/dev/input/event0`.
    ///   - key: its number in `linux/input-event-codes.h`.
    /// - Returns: nil where it is no input device, or has no such key.
    /// - Throws: where it cannot be opened.
    public init?(path: String, key: UInt16) throws(SystemError) {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw SystemError("open \(path)") }
        // A kernel without masks (before 4.4) reports the other keys too, which are ignored.
        guard input_has_key(descriptor, UInt32(key)) == 1, input_use_monotonic_clock(descriptor) == 0 else {
            close(descriptor)
            return nil
        }
        _ = input_listen_to_key(descriptor, UInt32(key))
        self.path = path
        self.key = key
        self.descriptor = descriptor
    }

    private let key: UInt16
    /// In the report that is being read.
    private var isReleased = false

    deinit { close(descriptor) }

    /// - Returns: the next event of the key with its monotonic time, nil where there is none now.
    /// - Throws: `ENODEV` where the device has gone.
    public func read() throws(SystemError) -> (event: Event, time: Duration)? {
        var raw = input_key_event()
        while true {
            let count = input_read(descriptor, &raw)
            guard count >= 0 else { throw SystemError("read \(path)") }
            guard count > 0 else { return nil }
            let time = Duration.microseconds(raw.time)
            switch (raw.kind, raw.value) {
            case (2, _):
                isReleased = false
                return (.lost, time)
            // Where the device goes, or the board sleeps, the kernel releases its keys: the end of the report tells.
            case (1, 0) where raw.code == UInt32(key): isReleased = true
            case (3, let value) where isReleased:
                isReleased = false
                return (value == 0 ? .released : .lost, time)
            case (1, 1) where raw.code == UInt32(key): return (.pressed, time)
            default: continue
            }
        }
    }
}

/// Tells when something appears in a folder.
public final class FolderWatch {
    /// Readable where something has appeared.
    public let descriptor: Int32

    /// - Throws: where there is no such folder, among others.
    public init(_ path: String) throws(SystemError) {
        descriptor = input_watch_folder(path)
        guard descriptor >= 0 else { throw SystemError("watch \(path)") }
    }

    deinit { close(descriptor) }
}
