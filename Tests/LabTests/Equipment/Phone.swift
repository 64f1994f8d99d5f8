import AppProtocol
import FoundationEssentials

@testable import Lab

/// A phone in the network of an access point. It uses the Python client in Docs/examples, which shares no code with the
/// agent.
actor Phone {
    private let accessPoint: AccessPoint
    private let device: DeviceKey
    private let directory: String
    private var connection: Program?
    private var count = 0

    init(in accessPoint: AccessPoint, of lab: Lab, knowing device: DeviceKey) {
        self.accessPoint = accessPoint
        self.device = device
        directory = lab.directory
    }

    /// Connects, sends a request, and stays connected until the next call. Retries until the limit.
    /// - Throws: `LabError`, and the device's `ProtocolError`.
    func ask<Answer: Decodable & Sendable>(
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

    func hangUp() {
        connection?.kill()
        connection = nil
    }

    private func connect(to address: IPv4Address, asking body: Request.Body) async throws {
        count += 1
        let name = "phone-\(accessPoint.gateway)-\(count)"
        let (program, key, request) = ("\(directory)/phone.py", "\(directory)/\(name).key", "\(directory)/\(name).in")
        try Lab.write(Self.program, to: program)
        try Lab.write(PairingCode(device).uri() + "\n", to: key)
        try Lab.write(
            String(decoding: Request(id: "phone", content: .device(body)).line(), as: UTF8.self) + "\n", to: request)
        connection = try await accessPoint.start(
            "python3", ["-B", program, "\(address)", "\(ProtocolLimits.port)", key], input: request, log: name)
    }

    /// Sends the request from standard input, prints the answer, and stays connected.
    private static let program = """
        import json, sys, time
        sys.path.insert(0, "Docs/examples")
        import client
        host, port, key_file = sys.argv[1:]
        try:
            device = client.Device(host, int(port), client.Pairing(open(key_file).readline()))
        except (client.DeviceError, OSError) as error:
            sys.exit(type(error).__name__)
        request = json.loads(sys.stdin.readline())
        try:
            answer = {"ok": True, "body": device.ask(request["type"], request.get("body"))}
        except client.DeviceError as error:
            answer = {"ok": False, "error": {"code": error.code, "message": str(error)}}
        print(json.dumps({"v": 1, "id": "phone", **answer}), flush=True)
        time.sleep(3600)
        """
}

extension Program {
    /// First complete line of JSON in the program's output; nil if there is none yet.
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
