import AgentModel
import AppProtocol
import Hotspots

/// Signs the device in to hotspots, through providers. Tests replace it.
protocol SignInService: Sendable {
    var status: HotspotStatus { get }
    func captiveFound(_ network: JoinedNetwork, name: NetworkName)
    func onlineFound(_ network: JoinedNetwork, name: NetworkName)
    func offlineFound(_ network: JoinedNetwork, name: NetworkName)
    func sessionEnds(_ network: JoinedNetwork, name: NetworkName)
    /// Logs off within ``HotspotSettings/logoffLimit``.
    func logOff() async
    func networkLeft()
    var switchedOff: Set<String> { get nonmutating set }
    func providers() async throws(ProviderFault) -> [String]
    func answer(_ answer: PortalAnswer) throws(PortalAnswerRefusal)
    /// Returns the providers that may serve these networks, by access point. Takes seconds at most.
    func filter(_ networks: [ScannedHotspot]) async -> [BSSID: [String]]
    func shutDown() async
}

extension Hotspots: SignInService {}
