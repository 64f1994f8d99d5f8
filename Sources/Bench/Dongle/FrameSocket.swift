import CLinux
import Glibc

/// Packet socket for Ethernet frames of the hidden station's interface. The driver's and the radio's thread use it.
final class FrameSocket: Sendable {
    let descriptor: Int32

    /// Maximum length of a frame in bytes, so that it fits into a transfer with its header of four bytes.
    private static let longestFrame = 1590

    init(interface: String) throws(DongleError) {
        descriptor = packet_open_frames(Int32(clamping: if_nametoindex(interface)))
        guard descriptor >= 0 else { throw .refused("receive the frames of \(interface)", errno: errno) }
    }

    deinit { close(descriptor) }

    /// Sends a frame without waiting. The kernel may drop the frame, as a radio does.
    func send(_ frame: ArraySlice<UInt8>) {
        _ = frame.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT)) }
    }

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
