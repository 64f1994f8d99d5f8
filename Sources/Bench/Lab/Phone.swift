import AgentModel
import AppProtocol
import FoundationEssentials

/// A phone in the network of an access point. It talks to the device through `openssl s_client`, which has nothing in
/// common with this project.
public actor Phone {
    private let accessPoint: AccessPoint
    private let device: DeviceKey
    private let directory: String
    private var connection: Program?
    private var count = 0

    /// - Parameter device: what the app knows of the device.
    public init(in accessPoint: AccessPoint, of lab: Lab, knowing device: DeviceKey) {
        self.accessPoint = accessPoint
        self.device = device
        directory = lab.directory
    }

    /// Connects anew, asks, and stays connected until it asks again.
    ///
    /// A device that does not answer yet, or not at this address, is tried again until the time is over.
    /// - Throws: the device's own `ProtocolError` too.
    public func ask<Answer: Decodable & Sendable>(
        _ body: Request.Body, at address: IPv4Address, within limit: Duration = .seconds(60)
    ) async throws -> Answer {
        hangUp()
        var answer: [UInt8]?
        try await eventually(within: limit, "\(address) to answer a phone in \(accessPoint.ssid)") {
            if connection?.isRunning != true { try await connect(to: address, asking: body) }
            answer = try connection?.firstLine
            return answer != nil
        }
        guard let answer else { throw LabError.timedOut(what: "an answer from \(address)", limit: limit) }
        if case .answer(_, let failure?) = try ServerLine(line: answer) { throw failure }
        return try ServerLine.body(Answer.self, of: answer)
    }

    /// Ends the connection.
    public func hangUp() {
        connection?.kill()
        connection = nil
    }

    private func connect(to address: IPv4Address, asking body: Request.Body) async throws {
        count += 1
        let name = "phone-\(accessPoint.gateway)-\(count)"
        let input = "\(directory)/\(name).in"
        try Lab.write(
            String(decoding: Request(id: "phone", content: .device(body)).line(), as: UTF8.self) + "\n", to: input)
        let key = device.localKey.withBytes { Hex.string(Array($0)) }
        connection = try await accessPoint.start(
            "openssl",
            [
                "s_client", "-quiet", "-connect", "\(address):\(ProtocolLimits.port)", "-psk", key, "-psk_identity",
                device.deviceId,
            ], input: input, log: name)
    }
}

extension Program {
    /// The first line of JSON that it wrote, once it is complete.
    fileprivate var firstLine: [UInt8]? {
        get throws {
            let written = Array(try Data(contentsOf: URL(filePath: log)))
            guard let start = written.firstIndex(of: UInt8(ascii: "{")),
                let end = written[start...].firstIndex(of: UInt8(ascii: "\n"))
            else { return nil }
            return Array(written[start..<end])
        }
    }
}
