/// A command of the driver (BCDC): a header of 16 bytes, little-endian, and an argument.
struct FirmwareCommand: Equatable {
    let subject: Subject
    let isSet: Bool
    /// Number of the driver's interface. 0 is the first interface.
    let interface: UInt8
    /// Requested length of the answer, in bytes.
    let outputLength: Int
    let argument: ArraySlice<UInt8>
    private let header: ArraySlice<UInt8>

    enum Subject: Hashable {
        case number(UInt32)
        case variable(String)
    }

    private static let headerLength = 16
    private static let longestOutput = 16_384
    private static let longestName = 63
    /// Prefix in the name of a variable of another interface. The interface's number follows the name.
    private static let interfacePrefix = "bsscfg:"

    init(_ bytes: ArraySlice<UInt8>) throws(DongleError) {
        guard let number = bytes.little(0, as: UInt32.self), let length = bytes.little(4, as: UInt32.self),
            let flags = bytes.little(8, as: UInt32.self), let header = bytes.bytes(0, Self.headerLength)
        else { throw .malformed("command of \(bytes.count) bytes") }
        self.header = header
        isSet = flags & Flag.set != 0
        outputLength = min(Int(length & 0xffff), Self.longestOutput)
        let buffer = bytes.dropFirst(Self.headerLength)
        guard number == Self.getVariable || number == Self.setVariable else {
            (subject, argument) = (.number(number), buffer)
            interface = UInt8(truncatingIfNeeded: flags >> 12 & 0xf)
            return
        }
        let name = buffer.prefix { $0 != 0 }
        guard name.count <= Self.longestName, name.count < buffer.count,
            let text = String(validating: name, as: UTF8.self)
        else { throw .malformed("name of a variable") }
        let isOfInterface = text.hasPrefix(Self.interfacePrefix)
        subject = .variable(isOfInterface ? String(text.dropFirst(Self.interfacePrefix.count)) : text)
        let rest = buffer.dropFirst(name.count + 1)
        guard isOfInterface else {
            (argument, interface) = (rest, UInt8(truncatingIfNeeded: flags >> 12 & 0xf))
            return
        }
        guard let number = rest.little(0, as: UInt32.self), number <= 0xf else { throw .malformed("interface") }
        (argument, interface) = (rest.dropFirst(4), UInt8(number))
    }

    private static let getVariable: UInt32 = 262
    private static let setVariable: UInt32 = 263

    private enum Flag {
        static let error: UInt32 = 1
        static let set: UInt32 = 2
    }

    /// Returns the answer in wire format: the header with the result, then data truncated or padded to the requested
    /// length.
    func response(_ answer: FirmwareAnswer) -> [UInt8] {
        var response = Array(header)
        switch answer {
        case .done, .data: response.put(little: Int32(0), at: 12)
        case .refused(let refusal):
            let flags = header.little(8, as: UInt32.self) ?? 0
            response.put(little: flags | Flag.error, at: 8)
            response.put(little: refusal.rawValue, at: 12)
        }
        if case .data(let data) = answer { return response + data.resized(to: outputLength) }
        return response.resized(to: response.count + outputLength)
    }
}

enum FirmwareAnswer: Equatable {
    case done
    case data([UInt8])
    case refused(FirmwareRefusal)

    static func number(_ number: some BinaryInteger) -> Self {
        var bytes: [UInt8] = []
        bytes.append(little: UInt32(truncatingIfNeeded: number))
        return .data(bytes)
    }
}

/// Error numbers of the firmware. The driver maps all of them to EBADE.
enum FirmwareRefusal: Int32 {
    case badArgument = -2
    case bufferTooShort = -14
    case busy = -16
    case notAssociated = -17
    case unsupported = -23
}
