import CLinux
import Glibc

/// Whole Ethernet frames at the hidden station's interface. Used by both threads: it is a descriptor and nothing else.
final class FrameSocket: Sendable {
    let descriptor: Int32

    /// The longest frame that fits a transfer to the host with its header of four bytes.
    private static let longestFrame = 1590

    /// - Parameter interface: in the network namespace of the calling thread.
    init(interface: String) throws(DongleError) {
        descriptor = packet_open_frames(Int32(clamping: if_nametoindex(interface)))
        guard descriptor >= 0 else { throw .refused("receive the frames of \(interface)", errno: errno) }
    }

    deinit { close(descriptor) }

    /// Sends a frame, or loses it as a radio does.
    func send(_ frame: ArraySlice<UInt8>) {
        _ = frame.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT)) }
    }

    /// The next frame that has come; nil where there is none.
    func receive() -> [UInt8]? {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer -> [UInt8]? in
            while true {
                let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                guard count >= 0 else { return nil }
                if count <= Self.longestFrame { return Array(buffer[..<count]) }
            }
        }
    }
}
