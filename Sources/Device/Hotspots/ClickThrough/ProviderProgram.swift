import AppProtocol
import Glibc
import Linux

/// What a provider written in Swift does.
public protocol ProviderService {
    mutating func answer(_ request: ProviderRequest.Content) async -> ProviderAnswer
}

/// A provider as a program: requests from standard input, answers on standard output, until the agent ends it.
public struct ProviderProgram<Service: ProviderService> {
    private var service: Service

    public init(_ service: Service) { self.service = service }

    public consuming func run() async {
        var splitter = LineSplitter()
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            // Nothing else goes on in this program meanwhile.
            let count = read(0, &buffer, buffer.count)
            guard count > 0 else { return }
            splitter.append(buffer.prefix(count))
            while let next = splitter.next() {
                guard case .line(let line) = next else { return }
                let answer = await answer(line) + [UInt8(ascii: "\n")]
                guard (try? writeAll(answer, to: 1, attempting: "answer")) != nil else { return }
            }
        }
    }

    private mutating func answer(_ line: [UInt8]) async -> [UInt8] {
        do throws(RejectedRequest) {
            let request = try ProviderRequest(line: line)
            let answer = await service.answer(request.content)
            do {
                return try answer.line(to: request.id)
            } catch {
                return error.providerLine(to: request.id)
            }
        } catch {
            return error.error.providerLine(to: error.id)
        }
    }
}
