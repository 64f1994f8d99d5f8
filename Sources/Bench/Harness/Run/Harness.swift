import AgentModel
import AppProtocol

/// Runs checks against a device one after the other, and restores the device after each check.
public struct Harness: Sendable {
    private let target: DeviceUnderTest
    private let bench: Bench
    private let isDestructive: Bool

    /// - Parameter isDestructive: whether the device may lose stored networks with unknown passwords.
    public init(target: DeviceUnderTest, bench: Bench = Bench(), isDestructive: Bool = false) {
        self.target = target
        self.bench = bench
        self.isDestructive = isDestructive
    }

    /// - Parameters:
    ///   - isStopped: called before each check. If it returns true, the remaining checks are skipped.
    ///   - progress: called before each check and with each result.
    /// - Throws: `HarnessError` before the first check. The device is then unchanged.
    public func run(
        _ checks: [Check], isStopped: () -> Bool = { false }, progress: (Progress) -> Void = { _ in }
    ) async throws(HarnessError) -> Report {
        let start = ContinuousClock.now
        var baseline = try await look()
        if !isDestructive, checks.contains(where: \.touchesBackups), !baseline.irreplaceable.isEmpty {
            throw .wouldRisk(baseline.irreplaceable.map(\.ssid))
        }
        // Share this run between all checks: its connection saves the device hundreds of handshakes.
        let caretaker = CheckRun(target: target, bench: bench, baseline: baseline, isDestructive: isDestructive)
        var results: [CheckResult] = []
        var obstacle: String?
        for check in checks {
            if obstacle == nil, isStopped() { obstacle = "the run was stopped" }
            progress(.began(check))
            let result: CheckResult
            if let obstacle {
                result = CheckResult(check, .skipped(why: obstacle))
            } else {
                result = await run(check, &baseline, caretaker)
                if result.isLeftChanged { obstacle = "\(check.id) left the device changed" }
            }
            results.append(result)
            progress(.ended(result))
        }
        await caretaker.closeConnections()
        return Report(
            device: baseline.capabilities, endpoint: "\(target.endpoint)", results: results, took: .now - start)
    }

    public enum Progress: Sendable {
        case began(Check)
        case ended(CheckResult)
    }

    /// Reads the state to which each check must return.
    private func look() async throws(HarnessError) -> Baseline {
        let transcript = Transcript()
        do {
            let wire = try await Wire.open(target.endpoint, transcript, patience: target.patience)
            let capabilities: Capabilities = try await wire.get(.getCapabilities)
            let backups: BackupList = try await wire.get(.getBackups)
            let network: NetworkStatus = try await wire.get(.getNetwork)
            await wire.close()
            return Baseline(
                capabilities: capabilities, backups: backups, network: network, bench: bench, key: target.key)
        } catch let deviation as Deviation {
            throw .notUnderstood(expected: deviation.expected, got: deviation.got, exchange: transcript.lines)
        } catch WireConnectFailure.unreachable(let why) {
            throw .unreachable(why)
        } catch {
            throw .unreachable("\(target.endpoint) refuses this key")
        }
    }

    private func run(_ check: Check, _ baseline: inout Baseline, _ caretaker: CheckRun) async -> CheckResult {
        let checkRun = CheckRun(target: target, bench: bench, baseline: baseline, isDestructive: isDestructive)
        let start = ContinuousClock.now
        var outcome = await outcome(of: check, checkRun)
        await checkRun.closeConnections()
        let took = ContinuousClock.now - start
        var isLeftChanged = false
        caretaker.transcript.keepSecrets(of: checkRun.transcript)
        do {
            baseline = try await caretaker.restore(to: baseline)
        } catch {
            isLeftChanged = true
            let wrong = Self.failure(error, caretaker.transcript)
            if !outcome.isFailed { outcome = wrong }
        }
        for transcript in [checkRun.transcript, caretaker.transcript] where !outcome.isFailed {
            guard let leak = transcript.leak else { continue }
            outcome = .failed(expected: "no password from the device", got: leak, exchange: transcript.lines)
        }
        return CheckResult(check, outcome, took: took, codes: checkRun.transcript.codes, isLeftChanged: isLeftChanged)
    }

    private func outcome(of check: Check, _ checkRun: CheckRun) async -> CheckResult.Outcome {
        do {
            try await check.body(checkRun)
            return .passed
        } catch let obstacle as Obstacle {
            return .skipped(why: obstacle.why)
        } catch {
            return Self.failure(error, checkRun.transcript)
        }
    }

    private static func failure(_ error: any Error, _ transcript: Transcript) -> CheckResult.Outcome {
        guard let deviation = error as? Deviation else {
            return .failed(expected: "no error", got: "\(error)", exchange: transcript.lines)
        }
        return .failed(expected: deviation.expected, got: deviation.got, exchange: transcript.lines)
    }
}

public enum HarnessError: Error, Sendable, Equatable {
    case unreachable(String)
    /// The device's first answers do not follow the protocol.
    case notUnderstood(expected: String, got: String, exchange: [String])
    /// The device stores networks that a defect could lose and that the harness cannot store again.
    case wouldRisk([SSID])
}

extension HarnessError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreachable(let why): "the device cannot be reached, check its address and that it is on: \(why)"
        case .notUnderstood(let expected, let got, let exchange):
            (["the device does not follow the protocol: expected \(expected), got \(got)"] + exchange).joined(
                separator: "\n")
        case .wouldRisk(let names):
            """
            nothing was changed: a defect of the device could lose its stored networks, whose passwords are unknown \
            here. Give them with --networks, skip the checks that send lists with --keep-list, or accept the risk with \
            --destructive: \(names.map(\.description).joined(separator: ", "))
            """
        }
    }
}
