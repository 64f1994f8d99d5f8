import Glibc

/// Request of the kernel's virtual host controller (Documentation/usb/usbip_protocol.rst of Linux). The header has 48
/// bytes and is big-endian except for the setup packet. Data for the device follows.
enum USBIPRequest: Equatable {
    case submit(URB)
    /// Cancels the transfer `victim`.
    case unlink(sequence: UInt32, victim: UInt32)

    static let headerLength = 48
    /// Maximum accepted length of a transfer in bytes. brcmfmac's transfers have at most 1600 bytes, its commands 1534.
    static let longestTransfer = 20_000

    init(header: ArraySlice<UInt8>) throws(DongleError) {
        guard header.count == Self.headerLength, let command = header.big(0, as: UInt32.self),
            let sequence = header.big(4, as: UInt32.self)
        else { throw .malformed("header of \(header.count) bytes") }
        switch command {
        case 1:
            guard let direction = header.big(12, as: UInt32.self), let endpoint = header.big(16, as: UInt32.self),
                let length = header.big(24, as: UInt32.self), let setup = header.bytes(40, 8).flatMap(SetupPacket.init)
            else { throw .malformed("transfer") }
            guard length <= Self.longestTransfer else { throw .malformed("transfer of \(length) bytes") }
            self = .submit(
                URB(
                    sequence: sequence, isToHost: direction == 1, endpoint: endpoint, length: Int(length),
                    setup: setup))
        case 2:
            guard let victim = header.big(20, as: UInt32.self) else { throw .malformed("victim") }
            self = .unlink(sequence: sequence, victim: victim)
        default: throw .malformed("command \(command)")
        }
    }

    var payloadLength: Int {
        guard case .submit(let urb) = self, !urb.isToHost else { return 0 }
        return urb.length
    }
}

/// A transfer (USB request block).
struct URB: Equatable {
    let sequence: UInt32
    let isToHost: Bool
    let endpoint: UInt32
    /// Number of bytes to the device, or maximum number of bytes from it.
    let length: Int
    let setup: SetupPacket
}

/// The first eight bytes of a control transfer (USB 2.0, 9.3).
struct SetupPacket: Equatable {
    let requestType: UInt8
    let request: UInt8
    let value: UInt16
    let index: UInt16
    let length: UInt16

    init(requestType: UInt8, request: UInt8, value: UInt16 = 0, index: UInt16 = 0, length: UInt16 = 0) {
        self.requestType = requestType
        self.request = request
        self.value = value
        self.index = index
        self.length = length
    }

    init?(_ bytes: ArraySlice<UInt8>) {
        guard let first = bytes.first, let request = bytes.little(1, as: UInt8.self),
            let value = bytes.little(2, as: UInt16.self), let index = bytes.little(4, as: UInt16.self),
            let length = bytes.little(6, as: UInt16.self)
        else { return nil }
        self.init(requestType: first, request: request, value: value, index: index, length: length)
    }
}

enum USBIPAnswer: Equatable {
    case received(sequence: UInt32, [UInt8])
    /// The device has accepted this number of bytes.
    case sent(sequence: UInt32, count: Int)
    /// The device does not support the control transfer (EPIPE).
    case stalled(sequence: UInt32)
    /// The transfer is cancelled. `wasPending` is true if it had no answer yet (ECONNRESET). It then never gets one.
    case unlinked(sequence: UInt32, wasPending: Bool)

    var bytes: [UInt8] {
        switch self {
        case .received(let sequence, let data): Self.submitted(sequence, 0, data.count) + data
        case .sent(let sequence, let count): Self.submitted(sequence, 0, count)
        case .stalled(let sequence): Self.submitted(sequence, -EPIPE, 0)
        case .unlinked(let sequence, let wasPending): Self.header(4, sequence, wasPending ? -ECONNRESET : 0, 0)
        }
    }

    private static func submitted(_ sequence: UInt32, _ status: Int32, _ count: Int) -> [UInt8] {
        header(3, sequence, status, count)
    }

    private static func header(_ command: UInt32, _ sequence: UInt32, _ status: Int32, _ count: Int) -> [UInt8] {
        var header: [UInt8] = []
        header.reserveCapacity(USBIPRequest.headerLength + count)
        header.append(big: command)
        header.append(big: sequence)
        header.append(contentsOf: repeatElement(0, count: 12))
        header.append(big: status)
        header.append(big: UInt32(clamping: count))
        header.append(contentsOf: repeatElement(0, count: 20))
        return header
    }
}
