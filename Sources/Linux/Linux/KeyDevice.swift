import AgentModel
import CLinux
import Glibc

/// One key of an input device, such as a board's button (evdev).
public final class KeyDevice {
    public let path: String
    /// Descriptor that is readable after an event or when the device is gone. Non-blocking.
    public let descriptor: Int32

    /// Change of the key.
    public enum Event: Sendable, Equatable {
        case pressed
        case released
        /// The kernel has dropped events or has released the key: the key's state is unknown.
        case lost
    }

    /// - Parameters:
    ///   - path: a device file, such as `/dev/input/event0`.
    ///   - key: key code of `linux/input-event-codes.h`.
    /// - Returns: nil if the file is not an input device or lacks the key.
    /// - Throws: the failure of open(2).
    public init?(path: String, key: UInt16) throws(SystemError) {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw SystemError("open \(path)") }
        // Kernels before 4.4 report other keys too; `read()` ignores them.
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
    /// True if the current report contains a release.
    private var isReleased = false

    deinit { close(descriptor) }

    /// - Returns: the next event of the key and its monotonic time; nil if none is pending.
    /// - Throws: `ENODEV` if the device is gone.
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
            // The kernel releases keys if the device is removed or the board sleeps. The end of the report shows if the
            // kernel or the user released them.
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

/// Detects new entries in a folder.
public final class FolderWatch {
    /// Descriptor that is readable after a new entry.
    public let descriptor: Int32

    public init(_ path: String) throws(SystemError) {
        descriptor = input_watch_folder(path)
        guard descriptor >= 0 else { throw SystemError("watch \(path)") }
    }

    deinit { close(descriptor) }
}
