import AgentModel
import AppProtocol
import Hotspots

/// Signs the device in: the hotspot providers, or a stand-in for them in a test.
protocol SignInService: Sendable {
    var status: HotspotStatus { get }
    func captiveFound(_ network: CaptiveNetwork, name: NetworkName)
    func onlineFound(_ network: CaptiveNetwork, name: NetworkName)
    func sessionEnds(_ network: CaptiveNetwork, name: NetworkName)
    /// Returns in ``HotspotSettings/logoffLimit`` at the latest.
    func logOff() async
    func networkLeft()
    /// The providers that are not asked.
    var switchedOff: Set<String> { get nonmutating set }
    /// The names of the providers that there are.
    func providers() async throws(ProviderFault) -> [String]
    func answer(_ answer: PortalAnswer) throws(PortalAnswerRefusal)
    /// The names of the providers that may serve these networks in range, by access point. Answers within seconds.
    func filter(_ networks: [ScannedHotspot]) async -> [BSSID: [String]]
    func shutDown() async
}

extension Hotspots: SignInService {}
