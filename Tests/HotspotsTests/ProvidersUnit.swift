import Foundation
import Testing

/// The unit of the providers' host, `board/systemd/altnet-providers.service`.
enum ProvidersUnit {
    /// What it leaves the host, as capabilities(7) names them, in small letters and without `CAP_`, which is how setpriv(1)
    /// does.
    static var capabilities: [String] {
        get throws {
            let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().appendingPathComponent("board/systemd/altnet-providers.service")
            let line = try #require(
                String(contentsOf: file, encoding: .utf8).firstMatch(of: /CapabilityBoundingSet=(.+)/)
            ).1
            return line.split(separator: " ").map { $0.dropFirst("CAP_".count).lowercased() }
        }
    }
}
