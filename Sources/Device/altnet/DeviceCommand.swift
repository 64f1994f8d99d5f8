import AppClient
import AppProtocol
import ArgumentParser

protocol DeviceCommand: AsyncParsableCommand {
    var connection: ConnectionOptions { get }

    /// - Throws: `ClientError` or `CommandFailure`; any other error is a defect.
    func run(_ device: DeviceClient, _ console: Console) async throws
}

extension DeviceCommand {
    func run() async throws {
        let console = Console.current
        do {
            try connection.device.warn(console)
            let device = try await connect(console)
            try await run(device, console)
            await device.close()
        } catch let failure as CommandFailure {
            try console.report(failure, json: connection.json)
        } catch let error as ClientError {
            try console.report(CommandFailure(error), json: connection.json)
        }
    }
}

extension DeviceCommand {
    /// - Parameter limit: time limit for the connection and for each answer; by default from the command line.
    func connect(_ console: Console, within limit: Duration? = nil) async throws -> DeviceClient {
        try await DeviceClient(
            connectingTo: connection.endpoint(console), timeout: limit ?? .seconds(connection.answerWithin))
    }
}

extension Console {
    /// Runs a command that uses the device's files and sometimes the agent, and reports its failure.
    static func run(json: Bool, _ command: (Console) async throws -> Void) async throws {
        let console = current
        do {
            try await command(console)
        } catch let failure as CommandFailure {
            try console.report(failure, json: json)
        } catch let failure as any KeyFileFailure {
            try console.report(CommandFailure(failure), json: json)
        } catch let error as ClientError {
            try console.report(CommandFailure(error), json: json)
        }
    }

    func report(_ failure: CommandFailure, json: Bool) throws {
        if json {
            print(json: FailureDocument(failure))
        } else if failure.status == .success {
            print(failure.message.printable)
        } else {
            complain(failure.message.printable)
        }
        throw ExitCode(failure.status.rawValue)
    }
}

struct CommandFailure: Error, Equatable {
    let status: ExitStatus
    let message: String
    var error: ProtocolError?

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    init(_ error: ClientError) {
        status = ExitStatus(error)
        guard case .refused(let refusal) = error else {
            message = "\(error)"
            return
        }
        self.error = refusal
        message = refusal.sentence
    }
}

private struct FailureDocument: Encodable {
    let error: Body

    struct Body: Encodable {
        /// Code of the device's error; missing if the device did not answer with an error.
        let code: String?
        let message: String
        let details: [String: ProtocolError.Detail]?
        let exitStatus: Int32
    }

    init(_ failure: CommandFailure) {
        error = Body(
            code: failure.error?.code.rawValue, message: failure.error?.message ?? failure.message,
            details: failure.error?.details, exitStatus: failure.status.rawValue)
    }
}
