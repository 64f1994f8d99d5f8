enum ControlRequest: Equatable {
    /// Answer with these bytes of a descriptor or of the boot loader.
    case data([UInt8])
    /// Accept the request without effect.
    case done
    case unknown
    /// The transfer carries a command for the firmware.
    case command
    case response
    /// The host configures or unconfigures the device (USB 2.0, 9.4.7), when it is plugged in or a driver is bound.
    case configure(isOn: Bool)

    init(_ setup: SetupPacket) {
        switch (setup.requestType, setup.request) {
        case (0x80, 6):
            self = Self.descriptor(setup.value).map { .data(Array($0.prefix(Int(setup.length)))) } ?? .unknown
        case (0xc1, _): self = .data(Array(Self.bootLoader.prefix(Int(setup.length))))
        case (0x00, 9): self = .configure(isOn: setup.value != 0)
        case (0x21, 0): self = .command
        case (0xa1, 1): self = .response
        default:
            let isToHost = setup.requestType & 0x80 != 0
            self = isToHost ? .data(Array(repeating: 0, count: min(Int(setup.length), 8))) : .done
        }
    }

    /// Chip and revision from the boot loader. They show brcmfmac that firmware is running ("post boot").
    private static let bootLoader: [UInt8] = [0x23, 0xa1, 0, 0, 6, 0, 0, 0] + Array(repeating: 0, count: 16)

    /// - Parameter value: type and number of the descriptor (USB 2.0, 9.4.3).
    private static func descriptor(_ value: UInt16) -> [UInt8]? {
        switch (value >> 8, Int(value & 0xff)) {
        case (1, 0): device
        case (2, 0): configuration
        case (3, 0): [4, 3, 0x09, 0x04]  // Language: English.
        case (3, let number) where strings.indices.contains(number - 1): text(strings[number - 1])
        default: nil
        }
    }

    /// Device descriptor of a Cypress dongle (04b4:0bdc) with running firmware ("BCMFW"): class 255, 64 bytes at
    /// endpoint 0.
    private static let device: [UInt8] = [
        18, 1, 0x00, 0x02, 0xff, 0, 0, 64, 0xb4, 0x04, 0xdc, 0x0b, 0x01, 0x00, 1, 2, 3, 1,
    ]
    /// Configuration descriptor: one interface with a bulk endpoint of 512 bytes in each direction.
    private static let configuration: [UInt8] = [
        9, 2, 32, 0, 1, 1, 0, 0x80, 250, 9, 4, 0, 0, 2, 0xff, 2, 0xff, 0, 7, 5, 0x81, 2, 0x00, 0x02, 0, 7, 5, 0x02, 2,
        0x00, 0x02, 0,
    ]
    private static let strings = ["Cypress", "Remote Download Wireless Adapter", "000000000001"]

    private static func text(_ text: String) -> [UInt8] {
        let units = text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        return [UInt8(clamping: 2 + units.count), 3] + units
    }
}
